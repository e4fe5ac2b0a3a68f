//! Which form of message content a template expects, by vLLM's rule: a template that loops over the content of a
//! message takes a list of parts, any other a text.

use std::collections::{HashSet, VecDeque};

use minijinja::machinery::ast::{Expr, ForLoop, Set, Stmt};

use super::literal::{Constant, Literal, Literals};

/// How `content` is given to the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentFormat {
    /// One text.
    String,
    /// A list of parts, as in the OpenAI API.
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
}

fn detect_parts(found: &Found<'_, '_>, literals: &Literals) -> Option<bool> {
    let mut messages = vec!["messages"];
    let mut seen = HashSet::from(["messages"]);
    let mut queue = VecDeque::from(["messages"]);
    while let Some(name) = queue.pop_front() {
        for assignment in &found.assignments {
            if accesses(&assignment.expr, name, None, literals) {
                let Expr::Var(target) = &assignment.target else { return None };
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
            let Expr::Var(target) = &node.target else { return None };
            items.push(target.id);
        }
    }
    for node in &found.loops {
        if items.iter().any(|name| accesses(&node.iter, name, Some("content"), literals)) {
            return matches!(node.target, Expr::Var(_)).then_some(true);
        }
    }
    Some(false)
}

/// Whether an expression is a variable, or the named part of it, perhaps filtered, tested or sliced.
fn accesses(expression: &Expr<'_>, variable: &str, key: Option<&str>, literals: &Literals) -> bool {
    match expression {
        Expr::Filter(node) => node.expr.as_ref().is_some_and(|inner| accesses(inner, variable, key, literals)),
        Expr::Test(node) => accesses(&node.expr, variable, key, literals),
        Expr::Slice(node) => accesses(&node.expr, variable, key, literals),
        Expr::Var(node) => key.is_none() && node.id == variable,
        Expr::GetAttr(node) => key == Some(node.name) && is_variable(&node.expr, variable),
        Expr::GetItem(node) => {
            let Expr::Var(index) = &node.subscript_expr else { return false };
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
                collect(&node.body, found);
                collect(&node.else_body, found);
            }
            Stmt::IfCond(node) => {
                collect(&node.true_body, found);
                collect(&node.false_body, found);
            }
            Stmt::WithBlock(node) => collect(&node.body, found),
            Stmt::Set(node) => found.assignments.push(node),
            Stmt::SetBlock(node) => collect(&node.body, found),
            Stmt::AutoEscape(node) => collect(&node.body, found),
            Stmt::FilterBlock(node) => collect(&node.body, found),
            Stmt::Block(node) => collect(&node.body, found),
            Stmt::Macro(node) => collect(&node.body, found),
            Stmt::CallBlock(node) => collect(&node.macro_decl.body, found),
            _ => {}
        }
    }
}
