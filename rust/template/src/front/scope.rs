//! jinja2's scopes: which variable a name means.
//!
//! jinja2 decides this when it compiles: a scope has its own copy of each variable that is assigned in it, which
//! starts as the value around it; everything else refers to the scopes around it. The rules are those of jinja2's
//! `idtracking`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use minijinja::machinery::ast::{CallArg, Expr, Stmt};

use super::program::{Load, Place};
use super::rewrite::GENERATION;
use super::walk::{children, each_argument};

/// A load before the place of an alias is known relative to the scope's function.
#[derive(Debug, Clone)]
enum RawLoad {
    Parameter,
    Missing,
    Alias { scope: usize, slot: usize },
    Resolve,
}

/// The part of a scope that branches of an `if` are analysed on copies of.
#[derive(Debug, Clone, Default)]
struct Symbols {
    refs: HashMap<String, usize>,
    loads: BTreeMap<usize, (String, RawLoad)>,
    stores: HashSet<String>,
}

#[derive(Debug)]
struct Scope {
    parent: Option<usize>,
    function: usize,
    symbols: Symbols,
    /// A name has one slot per scope, whichever branch met it first.
    slots: HashMap<String, usize>,
}

#[derive(Debug)]
struct Function {
    depth: usize,
    slots: usize,
}

/// All scopes of a template.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    scopes: Vec<Scope>,
    functions: Vec<Function>,
}

impl Scopes {
    /// A scope with nothing around it, in a function of its own.
    pub fn root(&mut self) -> usize {
        self.functions.push(Function { depth: 0, slots: 0 });
        self.push(None, self.functions.len() - 1)
    }

    /// A scope inside another, in the same function.
    pub fn inner(&mut self, parent: usize) -> usize {
        let function = self.scopes[parent].function;
        self.push(Some(parent), function)
    }

    /// A scope inside another, in a new function.
    pub fn function(&mut self, parent: usize) -> usize {
        let depth = self.functions[self.scopes[parent].function].depth + 1;
        self.functions.push(Function { depth, slots: 0 });
        self.push(Some(parent), self.functions.len() - 1)
    }

    /// A scope for the test or the `else` of a loop: inside `parent`, in the function of the loop's body.
    pub fn beside(&mut self, body: usize, parent: usize) -> usize {
        let function = self.scopes[body].function;
        self.push(Some(parent), function)
    }

    fn push(&mut self, parent: Option<usize>, function: usize) -> usize {
        self.scopes.push(Scope { parent, function, symbols: Symbols::default(), slots: HashMap::new() });
        self.scopes.len() - 1
    }

    /// The number of variables of the function that a scope belongs to.
    pub fn slots(&self, scope: usize) -> usize {
        self.functions[self.scopes[scope].function].slots
    }

    /// Where a name that was analysed is, seen from a scope.
    pub fn place(&self, scope: usize, name: &str) -> Option<Place> {
        let (at, slot) = self.find(scope, name)?;
        Some(self.relative(scope, at, slot))
    }

    /// The slot of a name in the scope itself.
    pub fn own_slot(&self, scope: usize, name: &str) -> Option<usize> {
        self.scopes[scope].symbols.refs.get(name).copied()
    }

    /// What to do when the scope is entered.
    pub fn loads(&self, scope: usize) -> Vec<(usize, Load)> {
        let loads = self.scopes[scope].symbols.loads.iter();
        loads
            .filter_map(|(&slot, (name, load))| {
                let load = match load {
                    RawLoad::Parameter => return None,
                    RawLoad::Missing => Load::Missing,
                    RawLoad::Alias { scope: at, slot } => Load::Alias(self.relative(scope, *at, *slot)),
                    RawLoad::Resolve => Load::Resolve(Arc::from(name.as_str())),
                };
                Some((slot, load))
            })
            .collect()
    }

    fn relative(&self, scope: usize, at: usize, slot: usize) -> Place {
        let depth = |scope: usize| self.functions[self.scopes[scope].function].depth;
        Place { up: depth(scope) - depth(at), slot }
    }

    fn find(&self, scope: usize, name: &str) -> Option<(usize, usize)> {
        let mut current = Some(scope);
        while let Some(at) = current {
            if let Some(&slot) = self.scopes[at].symbols.refs.get(name) {
                return Some((at, slot));
            }
            current = self.scopes[at].parent;
        }
        None
    }

    fn find_around(&self, scope: usize, name: &str) -> Option<(usize, usize)> {
        self.find(self.scopes[scope].parent?, name)
    }

    fn define(&mut self, scope: usize, name: &str, load: RawLoad) -> usize {
        let function = self.scopes[scope].function;
        let slot = if let Some(&slot) = self.scopes[scope].slots.get(name) {
            slot
        } else {
            let slot = self.functions[function].slots;
            self.functions[function].slots += 1;
            self.scopes[scope].slots.insert(name.to_owned(), slot);
            slot
        };
        let symbols = &mut self.scopes[scope].symbols;
        symbols.refs.insert(name.to_owned(), slot);
        symbols.loads.insert(slot, (name.to_owned(), load));
        slot
    }

    /// Makes a name a parameter of the scope: whoever enters it assigns it.
    pub fn parameter(&mut self, scope: usize, name: &str) -> usize {
        self.scopes[scope].symbols.stores.insert(name.to_owned());
        self.define(scope, name, RawLoad::Parameter)
    }

    fn load(&mut self, scope: usize, name: &str) {
        if self.find(scope, name).is_none() {
            self.define(scope, name, RawLoad::Resolve);
        }
    }

    fn store(&mut self, scope: usize, name: &str) {
        self.scopes[scope].symbols.stores.insert(name.to_owned());
        if self.scopes[scope].symbols.refs.contains_key(name) {
            return;
        }
        let load = match self.find_around(scope, name) {
            Some((scope, slot)) => RawLoad::Alias { scope, slot },
            None => RawLoad::Missing,
        };
        self.define(scope, name, load);
    }

    /// Analyses statements of a scope, in order.
    pub fn statements(&mut self, scope: usize, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.statement(scope, statement);
        }
    }

    fn statement(&mut self, scope: usize, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(node) => self.statements(scope, &node.children),
            Stmt::EmitExpr(node) => self.expression(scope, &node.expr),
            Stmt::ForLoop(node) => self.expression(scope, &node.iter),
            Stmt::IfCond(node) => {
                self.expression(scope, &node.expr);
                self.branches(scope, &node.true_body, &node.false_body);
            }
            Stmt::WithBlock(node) => {
                for (_, value) in &node.assignments {
                    self.expression(scope, value);
                }
            }
            Stmt::Set(node) => {
                self.expression(scope, &node.expr);
                self.target(scope, &node.target, false);
            }
            Stmt::SetBlock(node) => self.target(scope, &node.target, false),
            Stmt::FilterBlock(node) => self.expression(scope, &node.filter),
            Stmt::Macro(node) => self.store(scope, node.name),
            Stmt::CallBlock(node) => {
                self.expression(scope, &node.call.expr);
                self.arguments(scope, &node.call.args);
            }
            Stmt::Import(node) => self.target(scope, &node.name, false),
            Stmt::FromImport(node) => {
                for (name, alias) in &node.names {
                    self.target(scope, alias.as_ref().unwrap_or(name), false);
                }
            }
            Stmt::AutoEscape(node) => self.expression(scope, &node.enabled),
            _ => {}
        }
    }

    /// A variable that only one branch assigns keeps its value, or what the caller passed, in the other.
    fn branches(&mut self, scope: usize, yes: &[Stmt<'_>], no: &[Stmt<'_>]) {
        let before = self.scopes[scope].symbols.clone();
        let mut stores = HashSet::new();
        let mut merged = before.clone();
        for branch in [yes, no] {
            self.scopes[scope].symbols = before.clone();
            self.statements(scope, branch);
            let symbols = std::mem::take(&mut self.scopes[scope].symbols);
            stores.extend(symbols.stores.difference(&before.stores).cloned());
            merged.refs.extend(symbols.refs);
            merged.loads.extend(symbols.loads);
            merged.stores.extend(symbols.stores);
        }
        self.scopes[scope].symbols = merged;
        for name in stores {
            let Some(slot) = self.own_slot(scope, &name) else {
                continue;
            };
            let load = match self.find_around(scope, &name) {
                Some((scope, slot)) => RawLoad::Alias { scope, slot },
                None => RawLoad::Resolve,
            };
            self.scopes[scope].symbols.loads.insert(slot, (name, load));
        }
    }

    /// Analyses what is assigned to; `parameter` where entering the scope assigns it.
    pub fn target(&mut self, scope: usize, target: &Expr<'_>, parameter: bool) {
        match target {
            Expr::Var(node) if parameter => {
                self.parameter(scope, node.id);
            }
            Expr::Var(node) => self.store(scope, node.id),
            Expr::List(node) => node.items.iter().for_each(|item| self.target(scope, item, parameter)),
            Expr::Tuple(node) => node.items.iter().for_each(|item| self.target(scope, item, parameter)),
            Expr::GetAttr(node) => self.expression(scope, &node.expr),
            _ => {}
        }
    }

    /// Analyses an expression.
    pub fn expression(&mut self, scope: usize, expression: &Expr<'_>) {
        match expression {
            Expr::Var(node) if node.id != GENERATION => self.load(scope, node.id),
            _ => children(expression, &mut |child| self.expression(scope, child)),
        }
    }

    fn arguments(&mut self, scope: usize, arguments: &[CallArg<'_>]) {
        each_argument(arguments, &mut |child| self.expression(scope, child));
    }
}
