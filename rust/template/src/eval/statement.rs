//! Statements.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::{Flow, Interpreter, STACK_GROWTH, STACK_RED_ZONE};
use crate::error::{Outcome, TemplateError, runtime_error, type_error, value_error};
use crate::front::{Expression, ForLoop, Load, MacroDefinition, Statement, Target};
use crate::text::escape;
use crate::value::{Activation, Arguments, LoopState, Macro, Object, Value};

impl Interpreter<'_> {
    /// Runs statements in order.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> Outcome<Flow> {
        stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, || {
            for statement in statements {
                self.meter.spend(1)?;
                match self.statement(statement)? {
                    Flow::Next => {}
                    flow => return Ok(flow),
                }
            }
            Ok(Flow::Next)
        })
    }

    fn statement(&mut self, statement: &Statement) -> Outcome<Flow> {
        match statement {
            Statement::Text(text) => self.write(text)?,
            Statement::Output(expression) => {
                let value = self.expression(expression)?;
                self.print(&value)?;
            }
            Statement::If { test, yes, no } => {
                let branch = if self.expression(test)?.is_true() { yes } else { no };
                return self.statements(branch);
            }
            Statement::For(node) => self.for_loop(node)?,
            Statement::Set { target, value } => {
                let value = self.expression(value)?;
                self.assign(target, value)?;
            }
            Statement::SetBlock { target, loads, filter, body } => {
                self.enter(loads);
                let text = self.captured(body)?;
                let value = match filter {
                    Some(filter) => self.filter_text(filter, text)?,
                    None => text,
                };
                self.assign(target, value)?;
            }
            Statement::With { assignments, loads, body } => {
                for (target, value) in assignments {
                    let value = self.expression(value)?;
                    self.assign(target, value)?;
                }
                self.enter(loads);
                return self.statements(body);
            }
            Statement::FilterBlock { loads, filter, body } => {
                self.enter(loads);
                let text = self.captured(body)?;
                let value = self.filter_text(filter, text)?;
                let text = value.to_text(self)?;
                self.write(&text.text)?;
            }
            Statement::Macro { .. } | Statement::CallBlock { .. } | Statement::Generation(_) => {
                self.macro_statement(statement)?;
            }
            Statement::AutoEscape { enabled, loads, body } => {
                let enabled = self.expression(enabled)?.is_true();
                let before = std::mem::replace(&mut self.autoescape, enabled);
                self.enter(loads);
                let flow = self.statements(body);
                self.autoescape = before;
                return flow;
            }
            Statement::Block(at) => self.block(*at)?,
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
            Statement::Loader => {
                return Err(type_error("no loader for this environment specified"));
            }
        }
        Ok(Flow::Next)
    }

    /// The statements that make a macro.
    fn macro_statement(&mut self, statement: &Statement) -> Outcome<()> {
        let with_variables = |this: &Self, definition: &Arc<MacroDefinition>| Macro {
            definition: Arc::clone(definition),
            closure: Rc::clone(&this.activation),
        };
        match statement {
            Statement::Macro { target, definition } => {
                let made = Object::Macro(with_variables(self, definition));
                self.assign(target, Value::Object(Rc::new(made)))
            }
            Statement::CallBlock { call, caller } => {
                let caller = Object::Macro(with_variables(self, caller));
                let value = self.call_with_caller(call, Value::Object(Rc::new(caller)))?;
                self.print(&value)
            }
            Statement::Generation(body) => {
                let body = with_variables(self, body);
                let value = self.call_macro(&body, Arguments::default())?;
                let text = value.to_text(self)?;
                self.output.generated(crate::text::length(&text.text));
                self.print(&value)
            }
            _ => Ok(()),
        }
    }

    /// Appends a text to what is being written.
    fn write(&mut self, text: &str) -> Outcome<()> {
        let length = self.output.current().len();
        if length + text.len() > self.limit_bytes() {
            self.meter.allocate(length + text.len())?;
        }
        self.meter.spend(text.len() / 64)?;
        self.output.current().push_str(text);
        Ok(())
    }

    fn limit_bytes(&self) -> usize {
        self.meter.output_bytes()
    }

    /// Prints a value, escaped where that is on.
    fn print(&mut self, value: &Value) -> Outcome<()> {
        match value {
            Value::Str(text) if self.autoescape && !text.markup => self.write(&escape(&text.text)),
            Value::Str(text) => self.write(&text.text),
            Value::Undefined(_) => Ok(()),
            _ => {
                let text = value.to_text(self)?;
                if self.autoescape { self.write(&escape(&text.text)) } else { self.write(&text.text) }
            }
        }
    }

    /// What statements write.
    fn captured(&mut self, body: &[Statement]) -> Outcome<Value> {
        self.output.capture();
        let result = self.statements(body);
        let text = self.output.end_capture();
        result?;
        Ok(if self.autoescape { Value::markup(text) } else { Value::text(text) })
    }

    fn filter_text(&mut self, filter: &Expression, text: Value) -> Outcome<Value> {
        let before = self.block_text.replace(text);
        let value = self.expression(filter);
        self.block_text = before;
        value
    }

    /// Assigns a value.
    fn assign(&mut self, target: &Target, value: Value) -> Outcome<()> {
        match target {
            Target::Slot { slot, export } => {
                value.check_depth()?;
                if let Some(name) = export {
                    self.exports.retain(|(known, _)| known != name);
                    self.exports.push((Arc::clone(name), value.clone()));
                }
                self.set_slot(*slot, Some(value));
                Ok(())
            }
            Target::Tuple(targets) => {
                value.require_defined().or_else(
                    |error| {
                        if targets.is_empty() { Ok(()) } else { Err(error) }
                    },
                )?;
                let items = value.iterate(self)?;
                if items.len() != targets.len() {
                    let problem = if items.len() > targets.len() { "too many" } else { "not enough" };
                    return Err(value_error(format!(
                        "{problem} values to unpack (expected {})",
                        targets.len()
                    )));
                }
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, item)?;
                }
                Ok(())
            }
            Target::Attribute { owner, name } => {
                value.check_depth()?;
                let Value::Object(object) = self.expression(owner)? else {
                    return Err(runtime_error("cannot assign attribute on non-namespace object"));
                };
                let Object::Namespace(namespace) = &*object else {
                    return Err(runtime_error("cannot assign attribute on non-namespace object"));
                };
                check_namespace_name(name)?;
                let mut attributes = namespace.attributes.borrow_mut();
                attributes.set_str(name, value);
                Ok(())
            }
        }
    }

    fn for_loop(&mut self, node: &Arc<ForLoop>) -> Outcome<()> {
        let iterable = self.expression(&node.iterable)?;
        if node.recursion.is_some() {
            let text = self.recursive_loop(node, &Rc::clone(&self.activation), &iterable, 0)?;
            return self.write(&text);
        }
        self.run_loop(node, iterable, 0, None)
    }

    /// Runs a recursive loop, which is a function of its own, and gives what it writes.
    pub(super) fn recursive_loop(
        &mut self,
        node: &Arc<ForLoop>,
        around: &Rc<Activation>,
        iterable: &Value,
        depth: usize,
    ) -> Outcome<String> {
        let slots = node.recursion.unwrap_or_default();
        let activation = Activation::new(slots, Some(Rc::clone(around)));
        let around = Rc::clone(around);
        let iterable = iterable.clone();
        self.deeper(|this| {
            this.output.capture();
            let result = this.within(activation, |this| {
                this.run_loop(node, iterable, depth, Some((Arc::clone(node), around)))
            });
            let text = this.output.end_capture();
            result.map(|()| text)
        })
    }

    fn run_loop(
        &mut self,
        node: &Arc<ForLoop>,
        iterable: Value,
        depth: usize,
        recursion: Option<(Arc<ForLoop>, Rc<Activation>)>,
    ) -> Outcome<()> {
        let mut items = iterable.into_items(self)?;
        if let Some(test) = &node.test {
            let mut kept = Vec::new();
            for item in items {
                self.meter.spend(1)?;
                self.assign(&test.target, item.clone())?;
                self.enter(&test.loads);
                if self.expression(&test.condition)?.is_true() {
                    kept.push(item);
                }
            }
            items = kept;
        }
        if items.is_empty() {
            self.enter(&node.else_loads);
            self.statements(&node.else_body)?;
            return Ok(());
        }
        let Some(loop_slot) = node.loop_slot else {
            for item in items {
                if self.iteration(node, item)? == Flow::Break {
                    break;
                }
            }
            return Ok(());
        };
        let state = Rc::new(LoopState {
            items,
            index: Cell::new(0),
            depth,
            last_changed: RefCell::new(None),
            recursion,
        });
        let value = Value::Object(Rc::new(Object::Loop(Rc::clone(&state))));
        for (index, item) in state.items.iter().enumerate() {
            state.index.set(index);
            self.set_slot(loop_slot, Some(value.clone()));
            if self.iteration(node, item.clone())? == Flow::Break {
                break;
            }
        }
        Ok(())
    }

    fn iteration(&mut self, node: &ForLoop, item: Value) -> Outcome<Flow> {
        self.meter.spend(1)?;
        self.assign(&node.target, item)?;
        self.enter(&node.loads);
        self.statements(&node.body)
    }

    fn block(&mut self, at: usize) -> Outcome<()> {
        let program = self.program;
        let Some(block) = program.blocks.get(at) else {
            return Ok(());
        };
        let activation = Activation::new(block.slots, None);
        self.deeper(|this| {
            this.within(activation, |this| {
                this.enter(&block.loads);
                this.statements(&block.body).map(|_| ())
            })
        })
    }

    /// What a block writes, for `self.name()`.
    pub(super) fn block_text(&mut self, at: usize) -> Outcome<Value> {
        self.output.capture();
        let result = self.block(at);
        let text = self.output.end_capture();
        result.map(|()| Value::text(text))
    }

    /// Enters the scope of a macro.
    pub(super) fn enter_scope(&mut self, loads: &[(usize, Load)]) {
        self.enter(loads);
    }
}

/// Refuses names that transformers keeps out of namespaces.
pub(crate) fn check_namespace_name(name: &str) -> Outcome<()> {
    if name.starts_with('_') {
        return Err(TemplateError::Security(format!(
            "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{name}'. \
             Please rename the attribute."
        )));
    }
    Ok(())
}
