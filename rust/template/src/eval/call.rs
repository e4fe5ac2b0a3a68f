//! Calls: arguments, macros, methods, and everything else that can be called.

use std::rc::Rc;
use std::sync::Arc;

use super::{Interpreter, attribute};
use crate::error::{Outcome, TemplateError, type_error};
use crate::front::{Argument, Expression};
use crate::value::{Activation, Arguments, Dict, LoopState, Macro, Object, Undefined, Value, equal};

impl Interpreter<'_> {
    /// Evaluates the arguments of a call.
    pub(super) fn arguments(&mut self, arguments: &[Argument]) -> Outcome<Arguments> {
        let mut evaluated = Arguments::default();
        for argument in arguments {
            match argument {
                Argument::Positional(value) => evaluated.positional.push(self.expression(value)?),
                Argument::Named(name, value) => {
                    let value = self.expression(value)?;
                    add_named(&mut evaluated, Arc::clone(name), value)?;
                }
                Argument::Splat(value) => {
                    let value = self.expression(value)?;
                    evaluated.positional.extend(value.iterate(self)?);
                }
                Argument::NamedSplat(value) => {
                    let value = self.expression(value)?;
                    let Value::Dict(dict) = &value else {
                        value.require_defined()?;
                        return Err(type_error(format!(
                            "argument after ** must be a mapping, not {}",
                            value.type_name()
                        )));
                    };
                    for (key, value) in dict.entries() {
                        let Value::Str(name) = key else {
                            return Err(type_error("keywords must be strings"));
                        };
                        add_named(&mut evaluated, Arc::clone(&name.text), value.clone())?;
                    }
                }
            }
        }
        Ok(evaluated)
    }

    /// Evaluates the call of a call block, which gets the block as `caller`.
    pub(super) fn call_with_caller(&mut self, call: &Expression, block: Value) -> Outcome<Value> {
        let (callee, arguments) = match call {
            Expression::Call(callee, arguments) => (self.expression(callee)?, arguments),
            Expression::MethodCall { owner, name, arguments } => {
                let owner = self.expression(owner)?;
                (attribute(self, &owner, name)?, arguments)
            }
            other => (self.expression(other)?, &Vec::new()),
        };
        let mut arguments = self.arguments(arguments)?;
        add_named(&mut arguments, Arc::from("caller"), block)?;
        self.call(&callee, arguments)
    }

    /// Calls a method without making a bound method first, where there is one of that name.
    pub(super) fn call_method(
        &mut self,
        owner: &Value,
        name: &Arc<str>,
        arguments: &[Argument],
    ) -> Outcome<Value> {
        if crate::methods::exists(owner, name) {
            let arguments = self.arguments(arguments)?;
            return crate::methods::call(self, owner, name, arguments);
        }
        let callee = attribute(self, owner, name)?;
        // Python looks for the method before it evaluates the arguments, but complains only afterwards.
        let arguments = self.arguments(arguments)?;
        self.call(&callee, arguments)
    }

    /// Calls a value.
    ///
    /// # Errors
    /// What the callee raises, and a `TypeError` for what cannot be called.
    pub fn call(&mut self, callee: &Value, arguments: Arguments) -> Outcome<Value> {
        self.meter.spend(1)?;
        let object = match callee {
            Value::Undefined(undefined) => return Err(undefined.error()),
            Value::Object(object) => object,
            _ => return Err(not_callable(callee)),
        };
        match &**object {
            Object::Macro(r#macro) => self.call_macro(r#macro, arguments),
            Object::Method(owner, name) => crate::methods::call(self, owner, name, arguments),
            Object::Function(function) => crate::globals::call(self, *function, arguments),
            Object::Loop(state) => self.call_loop(state, arguments),
            Object::Joiner(separator, used) => {
                arguments.bind("Joiner", &[], 0)?;
                Ok(if used.replace(true) { separator.clone() } else { Value::text("") })
            }
            Object::Block(at) => self.block_text(*at),
            Object::Namespace(_) | Object::Cycler(_) | Object::TemplateReference => Err(not_callable(callee)),
        }
    }

    /// `loop(iterable)`, in a recursive loop.
    fn call_loop(&mut self, state: &Rc<LoopState>, arguments: Arguments) -> Outcome<Value> {
        let Some((node, around)) = &state.recursion else {
            return Err(type_error("The loop must have the 'recursive' marker to be called recursively."));
        };
        let mut parameters = arguments.bind("loop", &["iterable"], 1)?;
        let iterable = parameters.take_or(0, Value::None);
        let text = self.recursive_loop(node, around, &iterable, state.depth + 1)?;
        Ok(if self.autoescape() { Value::markup(text) } else { Value::text(text) })
    }

    /// Calls a macro.
    ///
    /// # Errors
    /// A `TypeError` for surplus arguments, and what its body raises.
    pub(super) fn call_macro(&mut self, r#macro: &Macro, mut arguments: Arguments) -> Outcome<Value> {
        let definition = Arc::clone(&r#macro.definition);
        let label = definition.name.as_deref().unwrap_or("None");
        let count = definition.parameters.len();
        let mut passed = std::mem::take(&mut arguments.positional);
        let surplus = if passed.len() > count { passed.split_off(count) } else { Vec::new() };
        let mut values: Vec<Option<Value>> = passed.into_iter().map(Some).collect();
        let mut found_caller = definition.explicit_caller && values.len() == count;
        for parameter in &definition.parameters[values.len()..] {
            found_caller |= &*parameter.name == "caller";
            values.push(arguments.take_named(&parameter.name));
        }
        let mut caller = None;
        if definition.caller.is_some() && !found_caller {
            caller = Some(match arguments.take_named("caller") {
                Some(Value::None) | None => {
                    Value::undefined(Undefined::Reason("No caller defined".to_owned()))
                }
                Some(caller) => caller,
            });
        }
        if definition.kwargs.is_none()
            && let Some((name, _)) = arguments.named.first()
        {
            return Err(if &**name == "caller" {
                type_error(format!(
                    "macro '{label}' was invoked with two values for the special caller argument"
                ))
            } else {
                type_error(format!("macro '{label}' takes no keyword argument '{name}'"))
            });
        }
        if definition.varargs.is_none() && !surplus.is_empty() {
            return Err(type_error(format!("macro '{label}' takes not more than {count} argument(s)")));
        }
        let activation = Activation::new(definition.slots, Some(Rc::clone(&r#macro.closure)));
        self.deeper(|this| {
            this.within(activation, |this| {
                this.enter_scope(&definition.loads);
                if let (Some(slot), Some(caller)) = (definition.caller, caller) {
                    this.set_slot(slot, Some(caller));
                }
                if let Some(slot) = definition.kwargs {
                    let mut kwargs = Dict::with_capacity(arguments.named.len());
                    for (name, value) in &arguments.named {
                        kwargs.set_str(name, value.clone());
                    }
                    this.set_slot(slot, Some(Value::dict(kwargs)));
                }
                if let Some(slot) = definition.varargs {
                    this.set_slot(slot, Some(Value::tuple(surplus)));
                }
                // All that was passed is there before the first default is evaluated.
                for (parameter, value) in definition.parameters.iter().zip(&values) {
                    if let Some(value) = value {
                        value.check_depth()?;
                    }
                    this.set_slot(parameter.slot, value.clone());
                }
                for (parameter, value) in definition.parameters.iter().zip(&values) {
                    if value.is_none() {
                        let value = match &parameter.default {
                            Some(default) => this.expression(default)?,
                            None => Value::undefined(Undefined::Reason(format!(
                                "parameter '{}' was not provided",
                                parameter.name
                            ))),
                        };
                        this.set_slot(parameter.slot, Some(value));
                    }
                }
                this.output.capture();
                let result = this.statements(&definition.body);
                let text = this.output.end_capture();
                result?;
                Ok(if this.autoescape { Value::markup(text) } else { Value::text(text) })
            })
        })
    }
}

impl LoopState {
    /// `loop.changed(*values)`.
    pub(crate) fn changed(&self, values: Vec<Value>) -> bool {
        let mut last = self.last_changed.borrow_mut();
        let same = last.as_ref().is_some_and(|last| {
            last.len() == values.len() && last.iter().zip(&values).all(|(a, b)| equal(a, b))
        });
        *last = Some(values);
        !same
    }
}

fn add_named(arguments: &mut Arguments, name: Arc<str>, value: Value) -> Outcome<()> {
    if arguments.named.iter().any(|(known, _)| *known == name) {
        return Err(type_error(format!("got multiple values for keyword argument '{name}'")));
    }
    arguments.named.push((name, value));
    Ok(())
}

fn not_callable(value: &Value) -> TemplateError {
    type_error(format!("'{}' object is not callable", value.type_name()))
}
