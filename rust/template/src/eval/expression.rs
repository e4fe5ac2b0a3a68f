//! Expressions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Interpreter, STACK_GROWTH, STACK_RED_ZONE, attribute, concatenated, item, negative};
use crate::error::{Outcome, TemplateError};
use crate::front::{CompareOperator, Expression};
use crate::value::{Dict, Undefined, Value, contains, equal, order};

impl Interpreter<'_> {
    /// Evaluates an expression.
    ///
    /// # Errors
    /// Whatever Python raises, or an exceeded budget.
    pub(super) fn expression(&mut self, expression: &Expression) -> Outcome<Value> {
        match expression {
            Expression::Constant(constant) => Ok(constant.value()),
            Expression::Variable { place, name } => Ok(self.variable_or_undefined(*place, name)),
            _ => stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, || {
                self.meter.spend(1)?;
                self.compound(expression)
            }),
        }
    }

    fn compound(&mut self, expression: &Expression) -> Outcome<Value> {
        Ok(match expression {
            Expression::Constant(_) | Expression::Variable { .. } => {
                return self.expression(expression);
            }
            Expression::List(items) => Value::list(self.expressions(items)?),
            Expression::Tuple(items) => Value::tuple(self.expressions(items)?),
            Expression::Dict(entries) => {
                let mut dict = Dict::with_capacity(entries.len());
                for (key, value) in entries {
                    let key = self.expression(key)?;
                    let value = self.expression(value)?;
                    dict.set(key, value)?;
                }
                Value::dict(dict)
            }
            Expression::Not(operand) => Value::Bool(!self.expression(operand)?.is_true()),
            Expression::Negative(operand) => {
                let operand = self.expression(operand)?;
                return negative(&operand);
            }
            Expression::Binary(operator, operands) => {
                let left = self.expression(&operands.0)?;
                let right = self.expression(&operands.1)?;
                return self.binary(*operator, &left, &right);
            }
            Expression::And(operands) => {
                let left = self.expression(&operands.0)?;
                if left.is_true() { self.expression(&operands.1)? } else { left }
            }
            Expression::Or(operands) => {
                let left = self.expression(&operands.0)?;
                if left.is_true() { left } else { self.expression(&operands.1)? }
            }
            Expression::Concatenation(parts) => {
                let parts = self.expressions(parts)?;
                return concatenated(self, &parts);
            }
            Expression::Comparison(first, rest) => Value::Bool(self.comparison(first, rest)?),
            Expression::Conditional { test, yes, no } => {
                return self.conditional(test, yes, no.as_deref());
            }
            Expression::Attribute(owner, name) => {
                let owner = self.expression(owner)?;
                return attribute(self, &owner, name);
            }
            Expression::Item(parts) => {
                let owner = self.expression(&parts.0)?;
                let key = self.expression(&parts.1)?;
                return item(self, &owner, &key);
            }
            Expression::Slice(owner, parts) => {
                let owner = self.expression(owner)?;
                let mut bounds = [Value::None, Value::None, Value::None];
                for (bound, part) in bounds.iter_mut().zip(parts.iter()) {
                    if let Some(part) = part {
                        *bound = self.expression(part)?;
                    }
                }
                return self.slice(&owner, &bounds);
            }
            Expression::Filter { .. } | Expression::Test { .. } => return self.applied(expression),
            Expression::Call(callee, arguments) => {
                let callee = self.expression(callee)?;
                let arguments = self.arguments(arguments)?;
                return self.call(&callee, arguments);
            }
            Expression::MethodCall { owner, name, arguments } => {
                let owner = self.expression(owner)?;
                return self.call_method(&owner, name, arguments);
            }
        })
    }

    fn comparison(&mut self, first: &Expression, rest: &[(CompareOperator, Expression)]) -> Outcome<bool> {
        let mut left = self.expression(first)?;
        for (operator, right) in rest {
            let right = self.expression(right)?;
            if !self.compare(*operator, &left, &right)? {
                return Ok(false);
            }
            left = right;
        }
        Ok(true)
    }

    fn conditional(
        &mut self,
        test: &Expression,
        yes: &Expression,
        no: Option<&Expression>,
    ) -> Outcome<Value> {
        if self.expression(test)?.is_true() {
            return self.expression(yes);
        }
        match no {
            Some(no) => self.expression(no),
            None => Ok(Value::undefined(Undefined::Reason(
                "the inline if-expression evaluated to false and no else section was defined.".to_owned(),
            ))),
        }
    }

    /// A filter or a test.
    fn applied(&mut self, expression: &Expression) -> Outcome<Value> {
        match expression {
            Expression::Filter { name, filter, subject, arguments } => {
                let subject = match subject {
                    Some(subject) => self.expression(subject)?,
                    None => self.block_text.clone().unwrap_or(Value::None),
                };
                let arguments = self.arguments(arguments)?;
                let filter = filter.ok_or_else(|| unknown("filter", name))?;
                filter(self, subject, arguments)
            }
            Expression::Test { name, test, subject, arguments } => {
                let subject = self.expression(subject)?;
                let arguments = self.arguments(arguments)?;
                let test = test.ok_or_else(|| unknown("test", name))?;
                test(self, &subject, arguments).map(Value::Bool)
            }
            other => self.expression(other),
        }
    }

    fn expressions(&mut self, expressions: &[Expression]) -> Outcome<Vec<Value>> {
        let mut values = Vec::with_capacity(expressions.len());
        for expression in expressions {
            values.push(self.expression(expression)?);
        }
        Ok(values)
    }

    fn compare(&mut self, operator: CompareOperator, left: &Value, right: &Value) -> Outcome<bool> {
        if matches!(operator, CompareOperator::In | CompareOperator::NotIn) {
            return Ok(contains(self, right, left)? == (operator == CompareOperator::In));
        }
        // Comparing containers costs more than a step, but no more than walking one of them.
        if left.depth() > 0 && right.depth() > 0 {
            left.check_depth()?;
            right.check_depth()?;
            self.meter.spend(left.length().unwrap_or(0))?;
        }
        Ok(match operator {
            CompareOperator::Equal => equal(left, right),
            CompareOperator::NotEqual => !equal(left, right),
            CompareOperator::Less => order(left, right, "<")? == Some(Ordering::Less),
            CompareOperator::LessEqual => order(left, right, "<=")?.is_some_and(Ordering::is_le),
            CompareOperator::Greater => order(left, right, ">")? == Some(Ordering::Greater),
            CompareOperator::GreaterEqual => order(left, right, ">=")?.is_some_and(Ordering::is_ge),
            CompareOperator::In | CompareOperator::NotIn => false,
        })
    }
}

fn unknown(kind: &'static str, name: &Arc<str>) -> TemplateError {
    TemplateError::Unknown { kind, name: name.to_string() }
}
