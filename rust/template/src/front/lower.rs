//! The state of lowering `MiniJinja`'s tree to a [`Program`].

use std::sync::Arc;

use minijinja::machinery::ast::Stmt;

use super::literal::Literals;
use super::program::{Block, Program};
use super::scope::Scopes;
use crate::error::Outcome;

/// Lowers one template.
pub(super) struct Lowering {
    pub scopes: Scopes,
    pub literals: Literals,
    pub blocks: Vec<Option<Block>>,
    /// Assignments at the top of a template that has blocks must be visible to them.
    pub exports: bool,
    /// Inside an `if`, unknown filters fail only when they are reached.
    pub soft: bool,
}

/// Lowers a tree.
///
/// # Errors
/// Syntax that jinja2 refuses, and unknown filters and tests outside of conditions.
pub(super) fn lower(tree: &Stmt<'_>, literals: Literals, has_generation: bool) -> Outcome<Program> {
    let statements = match tree {
        Stmt::Template(template) => template.children.as_slice(),
        other => std::slice::from_ref(other),
    };
    let mut lowering = Lowering {
        scopes: Scopes::default(),
        literals,
        blocks: Vec::new(),
        exports: has_block(statements),
        soft: false,
    };
    let scope = lowering.scopes.root();
    lowering.scopes.statements(scope, statements);
    let body = lowering.statements(scope, statements, true)?;
    Ok(Program {
        slots: lowering.scopes.slots(scope),
        loads: lowering.scopes.loads(scope),
        body,
        blocks: lowering.blocks.into_iter().flatten().collect(),
        has_generation,
    })
}

impl Lowering {
    /// Lowers a block, which is a function that sees nothing but what was passed and exported.
    pub fn block(&mut self, name: &str, statements: &[Stmt<'_>]) -> Outcome<usize> {
        let at = self.blocks.len();
        self.blocks.push(None);
        let scope = self.scopes.root();
        self.scopes.statements(scope, statements);
        let soft = std::mem::replace(&mut self.soft, false);
        let body = self.statements(scope, statements, false)?;
        self.soft = soft;
        self.blocks[at] = Some(Block {
            name: Arc::from(name),
            slots: self.scopes.slots(scope),
            loads: self.scopes.loads(scope),
            body,
        });
        Ok(at)
    }
}

fn has_block(statements: &[Stmt<'_>]) -> bool {
    statements.iter().any(|statement| match statement {
        Stmt::Block(_) => true,
        Stmt::ForLoop(node) => has_block(&node.body) || has_block(&node.else_body),
        Stmt::IfCond(node) => has_block(&node.true_body) || has_block(&node.false_body),
        Stmt::WithBlock(node) => has_block(&node.body),
        Stmt::SetBlock(node) => has_block(&node.body),
        Stmt::AutoEscape(node) => has_block(&node.body),
        Stmt::FilterBlock(node) => has_block(&node.body),
        Stmt::CallBlock(node) => has_block(&node.macro_decl.body),
        _ => false,
    })
}
