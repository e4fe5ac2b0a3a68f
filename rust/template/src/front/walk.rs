//! Walks over `MiniJinja`'s tree.

use minijinja::machinery::ast::{CallArg, Expr, Stmt};

/// Visits the values of arguments, in order.
pub(super) fn each_argument<'x, 'a>(arguments: &'x [CallArg<'a>], visit: &mut dyn FnMut(&'x Expr<'a>)) {
    for argument in arguments {
        match argument {
            CallArg::Pos(value)
            | CallArg::Kwarg(_, value)
            | CallArg::PosSplat(value)
            | CallArg::KwargSplat(value) => {
                visit(value);
            }
        }
    }
}

/// Visits the expressions directly inside one, in order.
pub(super) fn children<'x, 'a>(expression: &'x Expr<'a>, visit: &mut dyn FnMut(&'x Expr<'a>)) {
    match expression {
        Expr::Var(_) | Expr::Const(_) => {}
        Expr::Slice(node) => {
            visit(&node.expr);
            for part in [&node.start, &node.stop, &node.step].into_iter().flatten() {
                visit(part);
            }
        }
        Expr::UnaryOp(node) => visit(&node.expr),
        Expr::BinOp(node) => {
            visit(&node.left);
            visit(&node.right);
        }
        Expr::Compare(node) => {
            visit(&node.expr);
            node.ops.iter().for_each(|op| visit(&op.expr));
        }
        Expr::IfExpr(node) => {
            visit(&node.test_expr);
            visit(&node.true_expr);
            if let Some(no) = &node.false_expr {
                visit(no);
            }
        }
        Expr::Filter(node) => {
            if let Some(subject) = &node.expr {
                visit(subject);
            }
            each_argument(&node.args, visit);
        }
        Expr::Test(node) => {
            visit(&node.expr);
            each_argument(&node.args, visit);
        }
        Expr::GetAttr(node) => visit(&node.expr),
        Expr::GetItem(node) => {
            visit(&node.expr);
            visit(&node.subscript_expr);
        }
        Expr::Call(node) => {
            visit(&node.expr);
            each_argument(&node.args, visit);
        }
        Expr::List(node) => node.items.iter().for_each(visit),
        Expr::Tuple(node) => node.items.iter().for_each(visit),
        Expr::Map(node) => {
            for (key, value) in node.keys.iter().zip(&node.values) {
                visit(key);
                visit(value);
            }
        }
    }
}

/// Whether a name is read anywhere in statements; blocks are not looked into.
pub(super) fn reads(statements: &[Stmt<'_>], name: &str) -> bool {
    statements.iter().any(|statement| reads_in(statement, name))
}

fn reads_in(statement: &Stmt<'_>, name: &str) -> bool {
    let within = |expression: &Expr<'_>| mentions(expression, name);
    match statement {
        Stmt::Template(node) => reads(&node.children, name),
        Stmt::EmitExpr(node) => within(&node.expr),
        Stmt::ForLoop(node) => {
            within(&node.iter)
                || node.filter_expr.as_ref().is_some_and(within)
                || reads(&node.body, name)
                || reads(&node.else_body, name)
        }
        Stmt::IfCond(node) => {
            within(&node.expr) || reads(&node.true_body, name) || reads(&node.false_body, name)
        }
        Stmt::WithBlock(node) => {
            node.assignments.iter().any(|(_, value)| within(value)) || reads(&node.body, name)
        }
        Stmt::Set(node) => {
            within(&node.expr) || matches!(&node.target, Expr::GetAttr(target) if within(&target.expr))
        }
        Stmt::SetBlock(node) => node.filter.as_ref().is_some_and(within) || reads(&node.body, name),
        Stmt::AutoEscape(node) => within(&node.enabled) || reads(&node.body, name),
        Stmt::FilterBlock(node) => within(&node.filter) || reads(&node.body, name),
        Stmt::Macro(node) => node.defaults.iter().any(within) || reads(&node.body, name),
        Stmt::CallBlock(node) => {
            let mut found = within(&node.call.expr);
            each_argument(&node.call.args, &mut |argument| {
                found |= mentions(argument, name);
            });
            found || reads(&node.macro_decl.body, name)
        }
        _ => false,
    }
}

fn mentions(expression: &Expr<'_>, name: &str) -> bool {
    if let Expr::Var(node) = expression {
        return node.id == name;
    }
    let mut found = false;
    children(expression, &mut |child| {
        found = found || mentions(child, name);
    });
    found
}
