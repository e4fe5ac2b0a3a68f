//! Lowers expressions.

use std::sync::Arc;

use minijinja::machinery::ast::{self, BinOpKind, CallArg, CompareOpKind, Expr, UnaryOpKind};

use super::literal::{Constant, Literal};
use super::lower::Lowering;
use super::program::{Argument, BinaryOperator, CompareOperator, Expression};
use crate::error::{Outcome, TemplateError};

impl Lowering {
    /// Lowers an expression.
    pub fn expression(&mut self, scope: usize, expression: &Expr<'_>) -> Outcome<Expression> {
        Ok(match expression {
            Expr::Var(node) => return self.variable(scope, node),
            Expr::Const(node) => Expression::Constant(keyword(&node.value)),
            Expr::Slice(node) => {
                let mut part =
                    |part: &Option<Expr<'_>>| part.as_ref().map(|e| self.expression(scope, e)).transpose();
                let parts = Box::new([part(&node.start)?, part(&node.stop)?, part(&node.step)?]);
                Expression::Slice(self.boxed(scope, &node.expr)?, parts)
            }
            Expr::UnaryOp(node) => {
                if let (UnaryOpKind::Not, Expr::BinOp(inner)) = (&node.op, &node.expr)
                    && matches!(inner.op, BinOpKind::In)
                {
                    // Both `not a in b` and `a not in b`, which are the same.
                    return self.comparison(scope, CompareOperator::NotIn, &inner.left, &inner.right);
                }
                match node.op {
                    UnaryOpKind::Not => Expression::Not(self.boxed(scope, &node.expr)?),
                    UnaryOpKind::Neg => Expression::Negative(self.boxed(scope, &node.expr)?),
                }
            }
            Expr::BinOp(node) => return self.binary(scope, node),
            Expr::Compare(node) => {
                let mut rest = Vec::with_capacity(node.ops.len());
                for op in &node.ops {
                    rest.push((compare_operator(op.op), self.expression(scope, &op.expr)?));
                }
                Expression::Comparison(self.boxed(scope, &node.expr)?, rest)
            }
            Expr::IfExpr(node) => {
                let soft = std::mem::replace(&mut self.soft, true);
                let lowered = Expression::Conditional {
                    test: self.boxed(scope, &node.test_expr)?,
                    yes: self.boxed(scope, &node.true_expr)?,
                    no: node.false_expr.as_ref().map(|no| self.boxed(scope, no)).transpose()?,
                };
                self.soft = soft;
                lowered
            }
            Expr::Filter(node) => {
                let filter = crate::filters::find(node.name);
                self.check_known(filter.is_some(), "filter", node.name)?;
                Expression::Filter {
                    name: Arc::from(node.name),
                    filter,
                    subject: node.expr.as_ref().map(|subject| self.boxed(scope, subject)).transpose()?,
                    arguments: self.arguments(scope, &node.args)?,
                }
            }
            Expr::Test(node) => {
                let test = crate::tests::find(node.name);
                self.check_known(test.is_some(), "test", node.name)?;
                Expression::Test {
                    name: Arc::from(node.name),
                    test,
                    subject: self.boxed(scope, &node.expr)?,
                    arguments: self.arguments(scope, &node.args)?,
                }
            }
            Expr::GetAttr(node) => {
                Expression::Attribute(self.boxed(scope, &node.expr)?, Arc::from(node.name))
            }
            Expr::GetItem(node) => {
                let owner = self.expression(scope, &node.expr)?;
                Expression::Item(Box::new((owner, self.expression(scope, &node.subscript_expr)?)))
            }
            Expr::Call(node) => return self.call(scope, node),
            Expr::List(node) => Expression::List(self.expressions(scope, &node.items)?),
            Expr::Tuple(node) => Expression::Tuple(self.expressions(scope, &node.items)?),
            Expr::Map(node) => {
                let mut entries = Vec::with_capacity(node.keys.len());
                for (key, value) in node.keys.iter().zip(&node.values) {
                    entries.push((self.expression(scope, key)?, self.expression(scope, value)?));
                }
                Expression::Dict(entries)
            }
        })
    }

    fn boxed(&mut self, scope: usize, expression: &Expr<'_>) -> Outcome<Box<Expression>> {
        self.expression(scope, expression).map(Box::new)
    }

    fn expressions(&mut self, scope: usize, expressions: &[Expr<'_>]) -> Outcome<Vec<Expression>> {
        expressions.iter().map(|expression| self.expression(scope, expression)).collect()
    }

    fn variable(&mut self, scope: usize, node: &ast::Var<'_>) -> Outcome<Expression> {
        match self.literals.get(node.id) {
            Some(Literal::Constant(constant)) => return Ok(Expression::Constant(constant.clone())),
            Some(Literal::Text(text)) => {
                return Ok(Expression::Constant(Constant::Str(Arc::clone(text))));
            }
            None => {}
        }
        match self.scopes.place(scope, node.id) {
            Some(place) => Ok(Expression::Variable { place, name: Arc::from(node.id) }),
            None => Err(TemplateError::Syntax { message: format!("no variable '{}'", node.id), line: 0 }),
        }
    }

    fn binary(&mut self, scope: usize, node: &ast::BinOp<'_>) -> Outcome<Expression> {
        let operator = match node.op {
            BinOpKind::Eq => {
                return self.comparison(scope, CompareOperator::Equal, &node.left, &node.right);
            }
            BinOpKind::Ne => {
                return self.comparison(scope, CompareOperator::NotEqual, &node.left, &node.right);
            }
            BinOpKind::Lt => {
                return self.comparison(scope, CompareOperator::Less, &node.left, &node.right);
            }
            BinOpKind::Lte => {
                return self.comparison(scope, CompareOperator::LessEqual, &node.left, &node.right);
            }
            BinOpKind::Gt => {
                return self.comparison(scope, CompareOperator::Greater, &node.left, &node.right);
            }
            BinOpKind::Gte => {
                return self.comparison(scope, CompareOperator::GreaterEqual, &node.left, &node.right);
            }
            BinOpKind::In => {
                return self.comparison(scope, CompareOperator::In, &node.left, &node.right);
            }
            BinOpKind::Concat => {
                let mut parts = match self.expression(scope, &node.left)? {
                    Expression::Concatenation(parts) => parts,
                    other => vec![other],
                };
                parts.push(self.expression(scope, &node.right)?);
                return Ok(Expression::Concatenation(parts));
            }
            BinOpKind::ScAnd => {
                return Ok(Expression::And(self.pair(scope, &node.left, &node.right)?));
            }
            BinOpKind::ScOr => {
                return Ok(Expression::Or(self.pair(scope, &node.left, &node.right)?));
            }
            BinOpKind::Add => BinaryOperator::Add,
            BinOpKind::Sub => BinaryOperator::Subtract,
            BinOpKind::Mul => BinaryOperator::Multiply,
            BinOpKind::Div => BinaryOperator::Divide,
            BinOpKind::FloorDiv => BinaryOperator::FloorDivide,
            BinOpKind::Rem => BinaryOperator::Remainder,
            BinOpKind::Pow => BinaryOperator::Power,
        };
        Ok(Expression::Binary(operator, self.pair(scope, &node.left, &node.right)?))
    }

    fn pair(
        &mut self,
        scope: usize,
        left: &Expr<'_>,
        right: &Expr<'_>,
    ) -> Outcome<Box<(Expression, Expression)>> {
        Ok(Box::new((self.expression(scope, left)?, self.expression(scope, right)?)))
    }

    fn comparison(
        &mut self,
        scope: usize,
        operator: CompareOperator,
        left: &Expr<'_>,
        right: &Expr<'_>,
    ) -> Outcome<Expression> {
        let left = self.boxed(scope, left)?;
        Ok(Expression::Comparison(left, vec![(operator, self.expression(scope, right)?)]))
    }

    /// Lowers the arguments of a call.
    pub fn arguments(&mut self, scope: usize, arguments: &[CallArg<'_>]) -> Outcome<Vec<Argument>> {
        check_order(arguments)?;
        let mut lowered = Vec::with_capacity(arguments.len());
        for argument in arguments {
            lowered.push(match argument {
                CallArg::Pos(value) => Argument::Positional(self.expression(scope, value)?),
                CallArg::Kwarg(name, value) => {
                    Argument::Named(Arc::from(*name), self.expression(scope, value)?)
                }
                CallArg::PosSplat(value) => Argument::Splat(self.expression(scope, value)?),
                CallArg::KwargSplat(value) => Argument::NamedSplat(self.expression(scope, value)?),
            });
        }
        Ok(lowered)
    }

    fn check_known(&self, known: bool, kind: &'static str, name: &str) -> Outcome<()> {
        if known || self.soft {
            return Ok(());
        }
        Err(TemplateError::Unknown { kind, name: name.to_owned() })
    }
}

/// The constant of `true`, `false` or `none`: all other literals are in the table.
fn keyword(value: &minijinja::Value) -> Constant {
    if value.is_none() { Constant::None } else { Constant::Bool(value.is_true()) }
}

fn compare_operator(operator: CompareOpKind) -> CompareOperator {
    match operator {
        CompareOpKind::Eq => CompareOperator::Equal,
        CompareOpKind::Ne => CompareOperator::NotEqual,
        CompareOpKind::Lt => CompareOperator::Less,
        CompareOpKind::Lte => CompareOperator::LessEqual,
        CompareOpKind::Gt => CompareOperator::Greater,
        CompareOpKind::Gte => CompareOperator::GreaterEqual,
        CompareOpKind::In => CompareOperator::In,
        CompareOpKind::NotIn => CompareOperator::NotIn,
    }
}

/// Refuses orders of arguments that jinja2 refuses: `*` and `**` come once, positional arguments before both and before
/// named ones, and nothing after `**`.
fn check_order(arguments: &[CallArg<'_>]) -> Outcome<()> {
    let (mut named, mut splat, mut named_splat) = (false, false, false);
    for argument in arguments {
        let allowed = match argument {
            CallArg::Pos(_) => !named && !splat && !named_splat,
            CallArg::Kwarg(..) | CallArg::KwargSplat(_) => !named_splat,
            CallArg::PosSplat(_) => !splat && !named_splat,
        };
        if !allowed {
            let message = "invalid syntax for function call expression".to_owned();
            return Err(TemplateError::Syntax { message, line: 0 });
        }
        named |= matches!(argument, CallArg::Kwarg(..));
        splat |= matches!(argument, CallArg::PosSplat(_));
        named_splat |= matches!(argument, CallArg::KwargSplat(_));
    }
    Ok(())
}
