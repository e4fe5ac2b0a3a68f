//! From the source of a template to a [`Program`]: jinja2's lexical rules, `MiniJinja`'s grammar, jinja2's scopes.
//!
//! 1. [`lexer`] cuts the source into texts and tags by the rules of jinja2, whitespace control included.
//! 2. [`rewrite`] writes the tags down again so that `MiniJinja`'s parser reads them as jinja2 means them, with all
//!    texts and literals moved to a table.
//! 3. `MiniJinja` parses that, and [`lower`] turns its tree into a [`Program`] with all variables resolved.

mod content_format;
mod escape;
mod expression;
mod lexer;
mod literal;
mod lower;
mod number;
mod program;
mod rewrite;
mod scope;
mod statement;
mod walk;

pub use content_format::ContentFormat;
pub(crate) use program::{
    Argument, BinaryOperator, CompareOperator, Expression, ForLoop, Load, MacroDefinition, Place, Program,
    Statement, Target,
};

use minijinja::machinery;
use minijinja::syntax::SyntaxConfig;

use crate::error::{Outcome, TemplateError};

/// Stack for parsing and lowering, which recurse over the tree; the rewriter bounds how deep it can be.
const FRONT_STACK: usize = 64 << 20;

/// A compiled template and what its source tells about it.
pub(crate) struct Compiled {
    pub program: Program,
    pub content_format: ContentFormat,
}

/// Compiles a template.
///
/// # Errors
/// [`TemplateError::Syntax`], and [`TemplateError::Unknown`] for a filter or test that does not exist and would
/// be reached.
pub(crate) fn compile(source: &str) -> Outcome<Compiled> {
    stacker::grow(FRONT_STACK, || {
        let pieces = lexer::split(source)?;
        let rewritten = rewrite::rewrite(pieces)?;
        let tree =
            machinery::parse(&rewritten.source, "template", SyntaxConfig::default()).map_err(|error| {
                TemplateError::Syntax { message: error.to_string(), line: error.line().unwrap_or(1) }
            })?;
        let content_format = content_format::detect(&tree, &rewritten.literals);
        let program = lower::lower(&tree, rewritten.literals, rewritten.has_generation)?;
        Ok(Compiled { program, content_format })
    })
}
