//! Lowers statements.

use std::sync::Arc;

use minijinja::machinery::ast::{self, Expr, Stmt};

use super::literal::Literal;
use super::lower::Lowering;
use super::program::{Expression, ForLoop, LoopTest, MacroDefinition, Parameter, Statement, Target};
use super::rewrite::GENERATION;
use super::walk::reads;
use crate::error::{Outcome, TemplateError};

impl Lowering {
    /// Lowers statements; `top` at the top of the template, whose assignments blocks may see.
    pub fn statements(
        &mut self,
        scope: usize,
        statements: &[Stmt<'_>],
        top: bool,
    ) -> Outcome<Vec<Statement>> {
        let mut lowered = Vec::with_capacity(statements.len());
        for statement in statements {
            lowered.push(self.statement(scope, statement, top)?);
        }
        Ok(lowered)
    }

    /// Lowers the statements of a new scope, in which an unknown filter fails again when it is compiled.
    fn inner_statements(&mut self, scope: usize, statements: &[Stmt<'_>]) -> Outcome<Vec<Statement>> {
        let soft = std::mem::replace(&mut self.soft, false);
        let lowered = self.statements(scope, statements, false);
        self.soft = soft;
        lowered
    }

    fn statement(&mut self, scope: usize, statement: &Stmt<'_>, top: bool) -> Outcome<Statement> {
        Ok(match statement {
            Stmt::EmitExpr(node) => self.output(scope, &node.expr)?,
            Stmt::EmitRaw(node) => Statement::Text(Arc::from(node.raw)),
            Stmt::IfCond(node) => {
                let soft = std::mem::replace(&mut self.soft, true);
                let test = self.expression(scope, &node.expr)?;
                let yes = self.statements(scope, &node.true_body, top)?;
                let no = self.statements(scope, &node.false_body, top)?;
                self.soft = soft;
                Statement::If { test, yes, no }
            }
            Stmt::ForLoop(node) => Statement::For(Arc::new(self.for_loop(scope, node)?)),
            Stmt::Set(node) => Statement::Set {
                value: self.expression(scope, &node.expr)?,
                target: self.target(scope, &node.target, top)?,
            },
            Stmt::SetBlock(node) => {
                let inner = self.scopes.inner(scope);
                self.scopes.statements(inner, &node.body);
                if let Some(filter) = &node.filter {
                    self.scopes.expression(inner, filter);
                }
                Statement::SetBlock {
                    target: self.target(scope, &node.target, top)?,
                    filter: node.filter.as_ref().map(|filter| self.expression(inner, filter)).transpose()?,
                    body: self.inner_statements(inner, &node.body)?,
                    loads: self.scopes.loads(inner),
                }
            }
            Stmt::WithBlock(node) => {
                let inner = self.scopes.inner(scope);
                node.assignments.iter().for_each(|(target, _)| self.scopes.target(inner, target, true));
                self.scopes.statements(inner, &node.body);
                let mut assignments = Vec::with_capacity(node.assignments.len());
                for (target, value) in &node.assignments {
                    let value = self.expression(scope, value)?;
                    assignments.push((self.target(inner, target, false)?, value));
                }
                let body = self.inner_statements(inner, &node.body)?;
                Statement::With { assignments, body, loads: self.scopes.loads(inner) }
            }
            Stmt::FilterBlock(node) => {
                let inner = self.scopes.inner(scope);
                self.scopes.statements(inner, &node.body);
                self.scopes.expression(inner, &node.filter);
                Statement::FilterBlock {
                    filter: self.expression(inner, &node.filter)?,
                    body: self.inner_statements(inner, &node.body)?,
                    loads: self.scopes.loads(inner),
                }
            }
            Stmt::Macro(node) => Statement::Macro {
                definition: Arc::new(self.macro_definition(scope, node, Some(node.name))?),
                target: Target::Slot {
                    slot: self.scopes.own_slot(scope, node.name).unwrap_or_default(),
                    export: (top && self.exports).then(|| Arc::from(node.name)),
                },
            },
            Stmt::CallBlock(node) => self.call_block(scope, node)?,
            Stmt::AutoEscape(node) => {
                let inner = self.scopes.inner(scope);
                self.scopes.statements(inner, &node.body);
                Statement::AutoEscape {
                    enabled: self.expression(scope, &node.enabled)?,
                    body: self.inner_statements(inner, &node.body)?,
                    loads: self.scopes.loads(inner),
                }
            }
            Stmt::Block(node) => Statement::Block(self.block(node.name, &node.body)?),
            Stmt::Continue(_) => Statement::Continue,
            Stmt::Break(_) => Statement::Break,
            Stmt::Template(_)
            | Stmt::Import(_)
            | Stmt::FromImport(_)
            | Stmt::Extends(_)
            | Stmt::Include(_)
            | Stmt::Do(_) => Statement::Loader,
        })
    }

    fn output(&mut self, scope: usize, expression: &Expr<'_>) -> Outcome<Statement> {
        if let Expr::Var(variable) = expression
            && let Some(Literal::Text(text)) = self.literals.get(variable.id)
        {
            return Ok(Statement::Text(Arc::clone(text)));
        }
        Ok(Statement::Output(self.expression(scope, expression)?))
    }

    fn for_loop(&mut self, scope: usize, node: &ast::ForLoop<'_>) -> Outcome<ForLoop> {
        let inner = if node.recursive { self.scopes.function(scope) } else { self.scopes.inner(scope) };
        let uses_loop = node.recursive || reads(&node.body, "loop");
        let loop_slot = uses_loop.then(|| self.scopes.parameter(inner, "loop"));
        self.scopes.target(inner, &node.target, true);
        self.scopes.statements(inner, &node.body);
        let around = if node.recursive { inner } else { scope };
        let test = match &node.filter_expr {
            None => None,
            Some(condition) => {
                let tested = self.scopes.beside(around, scope);
                self.scopes.target(tested, &node.target, true);
                self.scopes.expression(tested, condition);
                Some(LoopTest {
                    target: self.loop_target(tested, &node.target)?,
                    condition: self.expression(tested, condition)?,
                    loads: self.scopes.loads(tested),
                })
            }
        };
        let otherwise = self.scopes.beside(around, scope);
        self.scopes.statements(otherwise, &node.else_body);
        Ok(ForLoop {
            target: self.loop_target(inner, &node.target)?,
            iterable: self.expression(scope, &node.iter)?,
            test,
            body: self.inner_statements(inner, &node.body)?,
            loads: self.scopes.loads(inner),
            loop_slot,
            else_body: self.inner_statements(otherwise, &node.else_body)?,
            else_loads: self.scopes.loads(otherwise),
            recursion: node.recursive.then(|| self.scopes.slots(inner)),
        })
    }

    fn loop_target(&mut self, scope: usize, target: &Expr<'_>) -> Outcome<Target> {
        match target {
            Expr::Var(node) => Ok(Target::Slot { slot: self.own_slot(scope, node)?, export: None }),
            Expr::List(node) => Ok(Target::Tuple(
                node.items.iter().map(|item| self.loop_target(scope, item)).collect::<Outcome<_>>()?,
            )),
            other => Err(cannot_assign(other)),
        }
    }

    fn target(&mut self, scope: usize, target: &Expr<'_>, top: bool) -> Outcome<Target> {
        match target {
            // jinja2 knows attributes of a variable only, not of an attribute.
            Expr::GetAttr(node) if matches!(node.expr, Expr::Var(_)) => Ok(Target::Attribute {
                owner: self.expression(scope, &node.expr)?,
                name: Arc::from(node.name),
            }),
            Expr::Var(node) => Ok(Target::Slot {
                slot: self.own_slot(scope, node)?,
                export: (top && self.exports).then(|| Arc::from(node.id)),
            }),
            Expr::List(node) => {
                let items = node.items.iter().map(|item| self.target(scope, item, top));
                Ok(Target::Tuple(items.collect::<Outcome<_>>()?))
            }
            other => Err(cannot_assign(other)),
        }
    }

    /// The slot of a variable that is assigned to, which a literal is not.
    fn own_slot(&self, scope: usize, node: &ast::Var<'_>) -> Outcome<usize> {
        match self.scopes.own_slot(scope, node.id) {
            Some(slot) if self.literals.get(node.id).is_none() => Ok(slot),
            _ => Err(TemplateError::Syntax { message: "can't assign to 'const'".to_owned(), line: 0 }),
        }
    }

    fn call_block(&mut self, scope: usize, node: &ast::CallBlock<'_>) -> Outcome<Statement> {
        let body = Arc::new(self.macro_definition(scope, &node.macro_decl, None)?);
        if matches!(&node.call.expr, Expr::Var(callee) if callee.id == GENERATION) {
            return Ok(Statement::Generation(body));
        }
        let call = self.call(scope, &node.call)?;
        Ok(Statement::CallBlock { call, caller: body })
    }

    fn macro_definition(
        &mut self,
        scope: usize,
        node: &ast::Macro<'_>,
        name: Option<&str>,
    ) -> Outcome<MacroDefinition> {
        let inner = self.scopes.function(scope);
        for argument in &node.args {
            self.scopes.target(inner, argument, true);
        }
        for default in &node.defaults {
            self.scopes.expression(inner, default);
        }
        self.scopes.statements(inner, &node.body);
        for argument in &node.args {
            self.loop_target(inner, argument)?;
        }
        let names: Vec<&str> = node
            .args
            .iter()
            .filter_map(|arg| match arg {
                Expr::Var(variable) => Some(variable.id),
                _ => None,
            })
            .collect();
        let explicit_caller = names.contains(&"caller");
        let special = |this: &mut Self, special: &str| {
            (!names.contains(&special) && reads(&node.body, special))
                .then(|| this.scopes.parameter(inner, special))
        };
        let caller = special(self, "caller");
        let kwargs = special(self, "kwargs");
        let varargs = special(self, "varargs");
        let soft = std::mem::replace(&mut self.soft, false);
        let without_default = names.len() - node.defaults.len();
        if names[..without_default].contains(&"caller") {
            return Err(TemplateError::Syntax {
                message: "the special \"caller\" argument must be omitted or be given a default".to_owned(),
                line: usize::from(node.args.first().map_or(0, |argument| argument.span().start_line)),
            });
        }
        let mut parameters = Vec::with_capacity(names.len());
        for (at, &parameter) in names.iter().enumerate() {
            let default = at.checked_sub(without_default).and_then(|at| node.defaults.get(at));
            parameters.push(Parameter {
                name: Arc::from(parameter),
                slot: self.scopes.own_slot(inner, parameter).unwrap_or_default(),
                default: default.map(|default| self.expression(inner, default)).transpose()?,
            });
        }
        let body = self.statements(inner, &node.body, false)?;
        self.soft = soft;
        Ok(MacroDefinition {
            name: name.map(Arc::from),
            parameters,
            slots: self.scopes.slots(inner),
            loads: self.scopes.loads(inner),
            body,
            caller,
            explicit_caller,
            varargs,
            kwargs,
        })
    }

    /// Lowers a call.
    pub fn call(&mut self, scope: usize, node: &ast::Call<'_>) -> Outcome<Expression> {
        let arguments = self.arguments(scope, &node.args)?;
        if let Expr::GetAttr(method) = &node.expr {
            let owner = Box::new(self.expression(scope, &method.expr)?);
            return Ok(Expression::MethodCall { owner, name: Arc::from(method.name), arguments });
        }
        Ok(Expression::Call(Box::new(self.expression(scope, &node.expr)?), arguments))
    }
}

fn cannot_assign(target: &Expr<'_>) -> TemplateError {
    TemplateError::Syntax {
        message: format!("can't assign to '{}'", target.description()),
        line: usize::from(target.span().start_line),
    }
}
