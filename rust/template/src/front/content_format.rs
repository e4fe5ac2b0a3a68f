//! Which form of message content a template expects, by vLLM's rule: a template that loops over the content of a
//! message takes a list of parts, any other a text. Beyond that rule, the loop may stand in a macro that gets the
//! content as an argument.

use std::collections::{HashSet, VecDeque};

use minijinja::machinery::ast::{CallArg, Expr, ForLoop, Macro, Set, Stmt};

use super::literal::{Constant, Literal, Literals};
use super::walk::children;

/// How `content` is given to the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentFormat {
    /// One text.
    String,
    /// A list of parts, as in the `OpenAI` API.
    OpenAi,
}

/// Detects the format.
pub(super) fn detect(tree: &Stmt<'_>, literals: &Literals) -> ContentFormat {
    let mut found = Found::default();
    collect(std::slice::from_ref(tree), &mut found);
    // `None` is what vLLM's own detection stumbles over: loops with several targets.
    match detect_parts(&found, literals) {
        Some(true) => ContentFormat::OpenAi,
        _ => ContentFormat::String,
    }
}

#[derive(Default)]
struct Found<'x, 'a> {
    loops: Vec<&'x ForLoop<'a>>,
    assignments: Vec<&'x Set<'a>>,
    macros: Vec<&'x Macro<'a>>,
    /// Expressions that may call a macro.
    expressions: Vec<&'x Expr<'a>>,
}

fn detect_parts(found: &Found<'_, '_>, literals: &Literals) -> Option<bool> {
    let mut messages = vec!["messages"];
    let mut seen = HashSet::from(["messages"]);
    let mut queue = VecDeque::from(["messages"]);
    while let Some(name) = queue.pop_front() {
        for assignment in &found.assignments {
            if accesses(&assignment.expr, name, None, literals) {
                let Expr::Var(target) = &assignment.target else {
                    return None;
                };
                if seen.insert(target.id) {
                    messages.push(target.id);
                    queue.push_back(target.id);
                }
            }
        }
    }
    let mut items = Vec::new();
    for node in &found.loops {
        if messages.iter().any(|name| accesses(&node.iter, name, None, literals)) {
            let Expr::Var(target) = &node.target else {
                return None;
            };
            items.push(target.id);
        }
    }
    for node in &found.loops {
        if items.iter().any(|name| accesses(&node.iter, name, Some("content"), literals)) {
            return matches!(node.target, Expr::Var(_)).then_some(true);
        }
    }
    let handed = |expression: &&Expr<'_>| hands_content_to_a_loop(expression, found, &items, literals);
    Some(found.expressions.iter().any(handed))
}

/// Whether an expression calls a macro with the content of a message for a parameter that the macro loops over.
fn hands_content_to_a_loop(
    expression: &Expr<'_>,
    found: &Found<'_, '_>,
    items: &[&str],
    literals: &Literals,
) -> bool {
    let is_content =
        |argument: &Expr<'_>| items.iter().any(|name| accesses(argument, name, Some("content"), literals));
    if let Expr::Call(call) = expression
        && let Some(node) = found.macros.iter().find(|node| is_variable(&call.expr, node.name))
    {
        let mut inside = Found::default();
        collect(&node.body, &mut inside);
        for (index, argument) in call.args.iter().enumerate() {
            let parameter = match argument {
                CallArg::Pos(value) if is_content(value) => match node.args.get(index) {
                    Some(Expr::Var(parameter)) => parameter.id,
                    _ => continue,
                },
                CallArg::Kwarg(name, value) if is_content(value) => name,
                _ => continue,
            };
            if inside.loops.iter().any(|node| accesses(&node.iter, parameter, None, literals)) {
                return true;
            }
        }
    }
    let mut inner = false;
    children(expression, &mut |child| inner |= hands_content_to_a_loop(child, found, items, literals));
    inner
}

/// Whether an expression is a variable, or the named part of it, perhaps filtered, tested or sliced.
fn accesses(expression: &Expr<'_>, variable: &str, key: Option<&str>, literals: &Literals) -> bool {
    match expression {
        Expr::Filter(node) => {
            node.expr.as_ref().is_some_and(|inner| accesses(inner, variable, key, literals))
        }
        Expr::Test(node) => accesses(&node.expr, variable, key, literals),
        Expr::Slice(node) => accesses(&node.expr, variable, key, literals),
        Expr::Var(node) => key.is_none() && node.id == variable,
        Expr::GetAttr(node) => key == Some(node.name) && is_variable(&node.expr, variable),
        Expr::GetItem(node) => {
            let Expr::Var(index) = &node.subscript_expr else {
                return false;
            };
            matches!(literals.get(index.id), Some(Literal::Constant(Constant::Str(text))) if key == Some(text))
                && is_variable(&node.expr, variable)
        }
        _ => false,
    }
}

fn is_variable(expression: &Expr<'_>, name: &str) -> bool {
    matches!(expression, Expr::Var(node) if node.id == name)
}

fn collect<'x, 'a>(statements: &'x [Stmt<'a>], found: &mut Found<'x, 'a>) {
    for statement in statements {
        match statement {
            Stmt::Template(node) => collect(&node.children, found),
            Stmt::ForLoop(node) => {
                found.loops.push(node);
                found.expressions.push(&node.iter);
                collect(&node.body, found);
                collect(&node.else_body, found);
            }
            Stmt::EmitExpr(node) => found.expressions.push(&node.expr),
            Stmt::IfCond(node) => {
                found.expressions.push(&node.expr);
                collect(&node.true_body, found);
                collect(&node.false_body, found);
            }
            Stmt::WithBlock(node) => collect(&node.body, found),
            Stmt::Set(node) => {
                found.assignments.push(node);
                found.expressions.push(&node.expr);
            }
            Stmt::SetBlock(node) => collect(&node.body, found),
            Stmt::AutoEscape(node) => collect(&node.body, found),
            Stmt::FilterBlock(node) => collect(&node.body, found),
            Stmt::Block(node) => collect(&node.body, found),
            Stmt::Macro(node) => {
                found.macros.push(node);
                collect(&node.body, found);
            }
            Stmt::CallBlock(node) => collect(&node.macro_decl.body, found),
            _ => {}
        }
    }
}
