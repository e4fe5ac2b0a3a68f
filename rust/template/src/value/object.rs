//! Values with behaviour: namespaces, macros, loops, bound methods and built-in functions.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::{Dict, Value};
use crate::front::MacroDefinition;

/// A value with behaviour.
#[derive(Debug)]
pub(crate) enum Object {
    Namespace(Namespace),
    Macro(Macro),
    Loop(Rc<LoopState>),
    /// A method of a value, not yet called.
    Method(Value, Arc<str>),
    Function(Function),
    Cycler(Cycler),
    /// jinja2's `joiner`: the separator, and whether it was called before.
    Joiner(Value, Cell<bool>),
    /// `self`: gives the template's blocks by name.
    TemplateReference,
    /// A block of the template, by number, that can be called.
    Block(usize),
}

/// The functions that every template finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Range,
    Dict,
    Namespace,
    RaiseException,
    StrftimeNow,
    Lipsum,
    Cycler,
    Joiner,
    /// `dict.fromkeys`.
    DictFromKeys,
}

/// What `namespace()` makes: the one value a template can change.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub attributes: RefCell<Dict>,
}

/// What `cycler(...)` makes.
#[derive(Debug)]
pub(crate) struct Cycler {
    pub items: Vec<Value>,
    pub position: Cell<usize>,
}

/// A macro together with the variables around its definition.
#[derive(Debug)]
pub(crate) struct Macro {
    pub definition: Arc<MacroDefinition>,
    pub closure: Rc<Activation>,
}

/// The variables of one running function: the template, a block, a macro or a recursive loop.
#[derive(Debug)]
pub(crate) struct Activation {
    /// `None` is a variable that has not been assigned yet.
    pub slots: RefCell<Vec<Option<Value>>>,
    pub parent: Option<Rc<Activation>>,
}

impl Activation {
    /// Variables for a function of `slots` variables.
    pub fn new(slots: usize, parent: Option<Rc<Activation>>) -> Rc<Self> {
        Rc::new(Self { slots: RefCell::new(vec![None; slots]), parent })
    }
}

/// The `loop` variable.
#[derive(Debug)]
pub(crate) struct LoopState {
    pub items: Vec<Value>,
    /// The position of the current item, counted from 0.
    pub index: Cell<usize>,
    /// How many loops of the same recursive loop are around it.
    pub depth: usize,
    /// What `loop.changed` saw last.
    pub last_changed: RefCell<Option<Vec<Value>>>,
    /// For a recursive loop: which one it is, and the variables around it.
    pub recursion: Option<(Arc<crate::front::ForLoop>, Rc<Activation>)>,
}

impl LoopState {
    /// `loop.length`.
    pub fn length(&self) -> usize {
        self.items.len()
    }

    /// What is left to iterate over.
    pub fn remaining(&self) -> Vec<Value> {
        self.items.iter().skip(self.index.get() + 1).cloned().collect()
    }
}

impl Object {
    /// As [`Value::type_name`].
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Namespace(_) => "TemplateNamespace",
            Self::Macro(_) => "Macro",
            Self::Loop(_) => "LoopContext",
            Self::Method(..) => "builtin_function_or_method",
            Self::Function(Function::Dict) => "TemplateDict",
            Self::Function(Function::Range | Function::Namespace | Function::Cycler | Function::Joiner) => {
                "type"
            }
            Self::Function(Function::DictFromKeys) => "method",
            Self::Function(_) => "function",
            Self::Cycler(_) => "Cycler",
            Self::Joiner(..) => "Joiner",
            Self::TemplateReference => "TemplateReference",
            Self::Block(_) => "BlockReference",
        }
    }

    /// As [`Value::depth`]. A namespace counts as flat: it is emptied at the end of the run, so that a chain of
    /// them is never walked.
    pub fn depth(&self) -> u16 {
        match self {
            Self::Method(value, _) | Self::Joiner(value, _) => value.depth().saturating_add(1),
            Self::Cycler(cycler) => {
                cycler.items.iter().map(Value::depth).max().unwrap_or(0).saturating_add(1)
            }
            Self::Loop(state) => state.items.iter().map(Value::depth).max().unwrap_or(0).saturating_add(1),
            _ => 1,
        }
    }
}
