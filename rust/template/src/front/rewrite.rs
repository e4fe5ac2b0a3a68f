//! Writes tags down so that `MiniJinja`'s parser reads them as jinja2 means them.
//!
//! * Texts and literals become names that stand for entries of a table ([`super::literal`]).
//! * `{% generation %}` becomes a call block, which is what transformers makes of it.
//! * `+x` becomes `- -x`: `MiniJinja` has no unary plus, and both fail for the same values.
//! * A bare tuple (`{% for x in 1, 2 %}`) gets parentheses.
//! * What `MiniJinja` has and jinja2 has not (`{% do %}`) is refused, and so is what would nest too deeply for a
//!   recursive parser.

use super::lexer::{Located, Piece, Token};
use super::literal::{Literal, Literals};
use crate::error::{Outcome, TemplateError};

/// The callee of the call block that a `{% generation %}` block becomes.
pub(crate) const GENERATION: &str = "generation·block";

/// Operators in one tag, and `elif` tags in a template: each may nest the tree one level deeper. `CPython` compiles
/// few templates beyond that, either.
const MAX_NESTING: usize = 500;

/// A template that `MiniJinja` can parse.
pub(crate) struct Rewritten {
    pub source: String,
    pub literals: Literals,
    pub has_generation: bool,
}

struct Rewriter {
    out: String,
    line: usize,
    literals: Literals,
    has_generation: bool,
    /// The end tags that open call-like blocks wait for.
    open: Vec<&'static str>,
    elifs: usize,
}

/// Writes down all pieces.
///
/// # Errors
/// [`TemplateError::Syntax`].
pub(crate) fn rewrite(pieces: Vec<Piece>) -> Outcome<Rewritten> {
    let mut rewriter = Rewriter {
        out: String::new(),
        line: 1,
        literals: Literals::default(),
        has_generation: false,
        open: Vec::new(),
        elifs: 0,
    };
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                let name = rewriter.literals.add(Literal::Text(text.into()));
                rewriter.out.push_str("{{ ");
                rewriter.out.push_str(&name);
                rewriter.out.push_str(" }}");
            }
            Piece::Tag { statement, tokens, line } => rewriter.tag(statement, tokens, line)?,
        }
    }
    if rewriter.open.contains(&"endgeneration") {
        return Err(syntax("Unexpected end of template. 'endgeneration' is missing.", rewriter.line));
    }
    Ok(Rewritten {
        source: rewriter.out,
        literals: rewriter.literals,
        has_generation: rewriter.has_generation,
    })
}

fn syntax(message: impl Into<String>, line: usize) -> TemplateError {
    TemplateError::Syntax { message: message.into(), line }
}

impl Rewriter {
    fn tag(&mut self, statement: bool, tokens: Vec<Located>, line: usize) -> Outcome<()> {
        let operators = tokens.iter().filter(|located| nests(&located.token)).count();
        if operators > MAX_NESTING {
            return Err(syntax(format!("more than {MAX_NESTING} operators in one tag"), line));
        }
        check_chained_tests(&tokens)?;
        if statement
            && matches!(tokens.first(), Some(Located { token: Token::Name(name), .. }) if name == "print")
        {
            self.print(tokens);
            return Ok(());
        }
        self.out.push_str(if statement { "{% " } else { "{{ " });
        if statement {
            self.statement(tokens, line)?;
            self.out.push_str(" %}");
        } else {
            self.with_tuple(tokens);
            self.out.push_str(" }}");
        }
        Ok(())
    }

    fn statement(&mut self, mut tokens: Vec<Located>, line: usize) -> Outcome<()> {
        let keyword = match tokens.first() {
            Some(Located { token: Token::Name(name), .. }) => name.clone(),
            _ => return Err(syntax("tag name expected", line)),
        };
        match keyword.as_str() {
            // jinja2 allows a colon at the end of these, from its early days.
            "generation" | "endgeneration" if tokens.len() > 1 => {
                return Err(syntax("expected token 'end of statement block'", line));
            }
            "generation" => {
                self.has_generation = true;
                self.open.push("endgeneration");
                self.out.push_str("call ");
                self.out.push_str(GENERATION);
                self.out.push_str("()");
            }
            "call" => {
                self.open.push("endcall");
                self.write(tokens);
            }
            "endgeneration" | "endcall" => {
                if self.open.pop() != Some(&keyword) {
                    return Err(syntax(format!("Encountered unknown tag '{keyword}'."), line));
                }
                self.out.push_str("endcall");
                self.write(tokens.split_off(1));
            }
            "do" => {
                return Err(syntax(format!("Encountered unknown tag '{keyword}'."), line));
            }
            "if" | "elif" => {
                self.elifs += usize::from(keyword == "elif");
                if self.elifs > MAX_NESTING {
                    return Err(syntax(format!("more than {MAX_NESTING} elif tags"), line));
                }
                let condition = tokens.split_off(1);
                self.out.push_str(&keyword);
                self.out.push(' ');
                self.with_tuple(condition);
            }
            "for" => self.for_tag(tokens),
            _ => self.write(tokens),
        }
        Ok(())
    }

    /// `{% print a, b %}` prints one after the other.
    fn print(&mut self, mut tokens: Vec<Located>) {
        let mut rest = tokens.split_off(1);
        loop {
            let mut depth = 0;
            let comma = rest.iter().position(|located| {
                depth += bracket(&located.token);
                depth == 0 && located.token == Token::Operator(",")
            });
            let mut after = comma.map(|comma| rest.split_off(comma));
            self.out.push_str("{{");
            self.write(rest);
            self.out.push_str(" }}");
            match &mut after {
                Some(after) => rest = after.split_off(1),
                None => return,
            }
        }
    }

    /// Puts parentheses around the iterable of a loop if it is a bare tuple.
    fn for_tag(&mut self, mut tokens: Vec<Located>) {
        let is_name = |located: &Located, name: &str| matches!(&located.token, Token::Name(n) if n == name);
        let Some(start) = tokens.iter().position(|located| is_name(located, "in")) else {
            return self.write(tokens);
        };
        let mut iterable = tokens.split_off(start + 1);
        let mut depth = 0;
        let end = iterable.iter().position(|located| {
            depth += bracket(&located.token);
            depth == 0 && (is_name(located, "if") || is_name(located, "recursive"))
        });
        let rest = end.map(|end| iterable.split_off(end)).unwrap_or_default();
        self.write(tokens);
        self.with_tuple(iterable);
        self.write(rest);
    }

    fn with_tuple(&mut self, tokens: Vec<Located>) {
        let mut depth = 0;
        let bare = tokens.iter().any(|located| {
            depth += bracket(&located.token);
            depth == 0 && located.token == Token::Operator(",")
        });
        if bare {
            self.out.push('(');
        }
        self.write(tokens);
        if bare {
            self.out.push(')');
        }
    }

    fn write(&mut self, tokens: Vec<Located>) {
        let mut before: Option<Token> = None;
        let mut after_is = false;
        let mut tokens = tokens.into_iter().peekable();
        while let Some(Located { token, line }) = tokens.next() {
            // Lines are kept, so that MiniJinja's messages name the right one.
            while self.line < line {
                self.out.push('\n');
                self.line += 1;
            }
            self.out.push(' ');
            match &token {
                Token::Name(name) => self.out.push_str(name),
                Token::Operator("+") if !ends_operand(before.as_ref()) => self.out.push_str("- -"),
                // `x.0` is an item.
                Token::Operator(".")
                    if ends_operand(before.as_ref())
                        && matches!(tokens.peek(), Some(Located { token: Token::Integer(_), .. })) =>
                {
                    if let Some(Located { token: index, .. }) = tokens.next() {
                        self.out.push('[');
                        self.literal(index);
                        self.out.push(']');
                    }
                    before = Some(Token::Operator("]"));
                    continue;
                }
                Token::Operator(operator) => self.out.push_str(operator),
                Token::Text(first) => {
                    // Adjacent string literals are one, as in Python.
                    let mut text = first.clone();
                    while let Some(Located { token: Token::Text(more), .. }) =
                        tokens.next_if(|next| matches!(next.token, Token::Text(_)))
                    {
                        text.push_str(&more);
                    }
                    self.literal(Token::Text(text));
                }
                Token::Integer(_) | Token::Float(_) => self.literal(token.clone()),
            }
            // MiniJinja would take a sign after a test for the start of its argument.
            let is_test = after_is && matches!(&token, Token::Name(name) if name != "not");
            if is_test && matches!(tokens.peek(), Some(Located { token: Token::Operator("+" | "-"), .. })) {
                self.out.push_str("()");
            }
            after_is = matches!(&token, Token::Name(name) if name == "is" || after_is && name == "not");
            before = Some(token);
        }
    }

    fn literal(&mut self, token: Token) {
        if let Some(constant) = token.constant() {
            let name = self.literals.add(Literal::Constant(constant));
            self.out.push_str(&name);
        }
    }
}

/// Refuses `x is a is b`, as jinja2 does.
fn check_chained_tests(tokens: &[Located]) -> Outcome<()> {
    let name = |at: usize| match tokens.get(at) {
        Some(Located { token: Token::Name(name), .. }) => Some(name.as_str()),
        _ => None,
    };
    for (at, located) in tokens.iter().enumerate() {
        let test = at + 1 + usize::from(name(at + 1) == Some("not"));
        if name(at) == Some("is") && name(test).is_some() && name(test + 1) == Some("is") {
            return Err(syntax("You cannot chain multiple tests with is", located.line));
        }
    }
    Ok(())
}

/// How much deeper a token goes into brackets.
fn bracket(token: &Token) -> i32 {
    match token {
        Token::Operator("(" | "[" | "{") => 1,
        Token::Operator(")" | "]" | "}") => -1,
        _ => 0,
    }
}

/// Whether a token may make the tree one level deeper.
fn nests(token: &Token) -> bool {
    match token {
        Token::Operator(operator) => !matches!(*operator, "," | ":" | "=" | ")" | "]" | "}"),
        Token::Name(name) => matches!(name.as_str(), "not" | "and" | "or" | "in" | "is" | "if" | "else"),
        _ => false,
    }
}

/// Whether an operand ends with this token, so that `+` after it is binary.
fn ends_operand(token: Option<&Token>) -> bool {
    match token {
        None => false,
        Some(Token::Operator(operator)) => matches!(*operator, ")" | "]" | "}"),
        Some(Token::Name(name)) => !matches!(
            name.as_str(),
            "and" | "or" | "not" | "in" | "is" | "if" | "elif" | "else" | "for" | "set"
        ),
        Some(_) => true,
    }
}
