//! Runs a [`Program`].

mod access;
mod call;
mod expression;
mod operators;
mod output;
mod slice;
mod statement;

use std::rc::Rc;
use std::sync::Arc;

use chrono::NaiveDateTime;

use crate::budget::{Budget, Meter};
use crate::error::{Outcome, TemplateError};
use crate::front::{Load, Place, Program};
use crate::value::{Activation, Function, Namespace, Object, Undefined, Value};

pub(crate) use access::{attribute, item};
use operators::negative;
pub(crate) use operators::{concatenated, percent_text};
pub(crate) use statement::check_namespace_name;

use output::Output;

/// Calls, and values within values, nested deeper than this are refused. Python gives up at about the same depth.
const MAX_DEPTH: usize = 200;

/// With less stack than this left a new piece is allocated, since template authors choose the depth.
pub(crate) const STACK_RED_ZONE: usize = 256 << 10;

/// The size of such a piece.
pub(crate) const STACK_GROWTH: usize = 4 << 20;

/// What is left to do after a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// One run of a program.
pub(crate) struct Interpreter<'p> {
    program: &'p Program,
    /// What the caller of the template passed.
    variables: Vec<(Arc<str>, Value)>,
    /// Assignments at the top of the template, where blocks need them.
    exports: Vec<(Arc<str>, Value)>,
    pub meter: Meter,
    output: Output,
    activation: Rc<Activation>,
    depth: usize,
    /// Whether output is escaped as HTML (`{% autoescape true %}`).
    autoescape: bool,
    /// The text of the filter block or set block whose filter is being applied.
    block_text: Option<Value>,
    now: Option<NaiveDateTime>,
    /// Things that may hold themselves, emptied at the end of the run so that they are freed.
    namespaces: Vec<Rc<Object>>,
    activations: Vec<Rc<Activation>>,
}

impl<'p> Interpreter<'p> {
    /// A run of `program` with the given variables.
    pub fn new(
        program: &'p Program,
        variables: Vec<(Arc<str>, Value)>,
        budget: &Budget,
        now: Option<NaiveDateTime>,
    ) -> Self {
        Self {
            program,
            variables,
            exports: Vec::new(),
            meter: Meter::new(budget),
            output: Output::default(),
            activation: Activation::new(program.slots, None),
            depth: 0,
            autoescape: false,
            block_text: None,
            now,
            namespaces: Vec::new(),
            activations: Vec::new(),
        }
    }

    /// Runs the whole template.
    ///
    /// # Returns
    /// The text, and the spans of `{% generation %}` blocks in code points, in the order in which they end.
    pub fn run(&mut self) -> Outcome<(String, Vec<(usize, usize)>)> {
        let program = self.program;
        self.activations.push(Rc::clone(&self.activation));
        self.enter(&program.loads);
        self.statements(&program.body)?;
        Ok(self.output.finish())
    }

    /// The time that `strftime_now` shows.
    pub fn now(&self) -> NaiveDateTime {
        self.now.unwrap_or_else(|| chrono::Local::now().naive_local())
    }

    /// Whether output is escaped as HTML.
    pub fn autoescape(&self) -> bool {
        self.autoescape
    }

    /// Runs something one level deeper.
    ///
    /// # Errors
    /// [`TemplateError::TooDeep`] at [`MAX_DEPTH`].
    pub fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth >= MAX_DEPTH {
            return Err(TemplateError::TooDeep { limit: MAX_DEPTH });
        }
        self.depth += 1;
        let result = stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, || run(self));
        self.depth -= 1;
        result
    }

    /// A new namespace.
    pub fn namespace(&mut self, attributes: crate::value::Dict) -> Value {
        let object = Rc::new(Object::Namespace(Namespace { attributes: attributes.into() }));
        self.namespaces.push(Rc::clone(&object));
        Value::Object(object)
    }

    /// Gives the variables of a scope what they start with.
    fn enter(&mut self, loads: &[(usize, Load)]) {
        for (slot, load) in loads {
            let value = match load {
                Load::Missing => None,
                Load::Alias(place) => self.variable(*place),
                Load::Resolve(name) => self.resolve(name),
            };
            self.set_slot(*slot, value);
        }
    }

    fn set_slot(&self, slot: usize, value: Option<Value>) {
        if let Some(place) = self.activation.slots.borrow_mut().get_mut(slot) {
            *place = value;
        }
    }

    fn variable(&self, place: Place) -> Option<Value> {
        let mut activation = &self.activation;
        for _ in 0..place.up {
            activation = activation.parent.as_ref()?;
        }
        activation.slots.borrow().get(place.slot)?.clone()
    }

    fn variable_or_undefined(&self, place: Place, name: &Arc<str>) -> Value {
        self.variable(place).unwrap_or_else(|| Value::undefined(Undefined::Name(Arc::clone(name))))
    }

    /// What a name means outside of the template: an export, something passed, or a built-in function.
    fn resolve(&self, name: &str) -> Option<Value> {
        let passed = self.exports.iter().rev().chain(self.variables.iter().rev());
        if let Some((_, value)) = passed.into_iter().find(|(known, _)| **known == *name) {
            return Some(value.clone());
        }
        let function = match name {
            "range" => Function::Range,
            "dict" => Function::Dict,
            "namespace" => Function::Namespace,
            "raise_exception" => Function::RaiseException,
            "strftime_now" => Function::StrftimeNow,
            "lipsum" => Function::Lipsum,
            "cycler" => Function::Cycler,
            "joiner" => Function::Joiner,
            "self" => return Some(Value::Object(Rc::new(Object::TemplateReference))),
            _ => return None,
        };
        Some(Value::Object(Rc::new(Object::Function(function))))
    }

    /// The number of a block.
    fn block_named(&self, name: &str) -> Option<usize> {
        self.program.blocks.iter().position(|block| *block.name == *name)
    }

    /// Runs something with other variables; they are kept until the end if a macro still holds them.
    fn within<T>(
        &mut self,
        activation: Rc<Activation>,
        run: impl FnOnce(&mut Self) -> Outcome<T>,
    ) -> Outcome<T> {
        let around = std::mem::replace(&mut self.activation, activation);
        let result = run(self);
        let done = std::mem::replace(&mut self.activation, around);
        if Rc::strong_count(&done) > 1 {
            self.activations.push(done);
        }
        result
    }
}

impl Drop for Interpreter<'_> {
    /// Breaks cycles (a macro is a variable of the scope that it holds) and chains too long to free recursively.
    fn drop(&mut self) {
        for object in &self.namespaces {
            if let Object::Namespace(namespace) = &**object {
                let entries = namespace.attributes.borrow_mut().take();
                drop(entries);
            }
        }
        for activation in &self.activations {
            let slots = std::mem::take(&mut *activation.slots.borrow_mut());
            drop(slots);
        }
    }
}
