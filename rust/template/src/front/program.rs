//! A compiled template: the tree that is run.

use std::sync::Arc;

use super::literal::Constant;
use crate::filters::Filter;
use crate::tests::Test;

/// A template ready to run.
#[derive(Debug)]
pub(crate) struct Program {
    /// The number of variables of the template itself.
    pub slots: usize,
    pub loads: Vec<(usize, Load)>,
    pub body: Vec<Statement>,
    pub blocks: Vec<Block>,
    pub has_generation: bool,
}

/// A named block.
#[derive(Debug)]
pub(crate) struct Block {
    pub name: Arc<str>,
    pub slots: usize,
    pub loads: Vec<(usize, Load)>,
    pub body: Vec<Statement>,
}

/// Where a variable is: in which running function, counted outwards, and at which position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub up: usize,
    pub slot: usize,
}

/// What a variable starts with when its scope is entered.
#[derive(Debug, Clone)]
pub(crate) enum Load {
    /// Nothing: it is not assigned yet.
    Missing,
    /// The value of a variable of a scope around it.
    Alias(Place),
    /// The value that the caller of the template passed under this name.
    Resolve(Arc<str>),
}

/// What is assigned to.
#[derive(Debug)]
pub(crate) enum Target {
    /// A variable of the current function; `export` is its name where blocks must see it.
    Slot {
        slot: usize,
        export: Option<Arc<str>>,
    },
    Tuple(Vec<Target>),
    /// An attribute of a namespace.
    Attribute {
        owner: Expression,
        name: Arc<str>,
    },
}

/// A statement.
#[derive(Debug)]
pub(crate) enum Statement {
    Text(Arc<str>),
    Output(Expression),
    If {
        test: Expression,
        yes: Vec<Statement>,
        no: Vec<Statement>,
    },
    For(Arc<ForLoop>),
    Set {
        target: Target,
        value: Expression,
    },
    SetBlock {
        target: Target,
        loads: Vec<(usize, Load)>,
        filter: Option<Expression>,
        body: Vec<Statement>,
    },
    With {
        assignments: Vec<(Target, Expression)>,
        loads: Vec<(usize, Load)>,
        body: Vec<Statement>,
    },
    FilterBlock {
        loads: Vec<(usize, Load)>,
        filter: Expression,
        body: Vec<Statement>,
    },
    Macro {
        target: Target,
        definition: Arc<MacroDefinition>,
    },
    CallBlock {
        call: Expression,
        caller: Arc<MacroDefinition>,
    },
    /// `{% generation %}`.
    Generation(Arc<MacroDefinition>),
    AutoEscape {
        enabled: Expression,
        loads: Vec<(usize, Load)>,
        body: Vec<Statement>,
    },
    Block(usize),
    Break,
    Continue,
    /// Something that fails when it is reached, since no other template can be loaded.
    Loader,
}

/// A `{% for %}` loop.
#[derive(Debug)]
pub(crate) struct ForLoop {
    pub target: Target,
    pub iterable: Expression,
    pub test: Option<LoopTest>,
    pub loads: Vec<(usize, Load)>,
    /// Where the `loop` variable goes, if the body uses it.
    pub loop_slot: Option<usize>,
    pub body: Vec<Statement>,
    pub else_loads: Vec<(usize, Load)>,
    pub else_body: Vec<Statement>,
    /// The number of variables, for a recursive loop, which is a function of its own.
    pub recursion: Option<usize>,
}

/// The `if` of a loop, which sees its own copy of the loop's target.
#[derive(Debug)]
pub(crate) struct LoopTest {
    pub target: Target,
    pub loads: Vec<(usize, Load)>,
    pub condition: Expression,
}

/// A macro, or the body of a call block.
#[derive(Debug)]
pub(crate) struct MacroDefinition {
    /// `None` for the body of a call block.
    pub name: Option<Arc<str>>,
    pub parameters: Vec<Parameter>,
    pub slots: usize,
    pub loads: Vec<(usize, Load)>,
    pub body: Vec<Statement>,
    pub caller: Option<usize>,
    pub explicit_caller: bool,
    pub varargs: Option<usize>,
    pub kwargs: Option<usize>,
}

/// A parameter of a macro.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub name: Arc<str>,
    pub slot: usize,
    pub default: Option<Expression>,
}

/// Operators of two operands, but for comparisons and those that may skip the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompareOperator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
}

/// An argument of a call.
#[derive(Debug)]
pub(crate) enum Argument {
    Positional(Expression),
    Named(Arc<str>, Expression),
    Splat(Expression),
    NamedSplat(Expression),
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Expression {
    Constant(Constant),
    Variable {
        place: Place,
        name: Arc<str>,
    },
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    Dict(Vec<(Expression, Expression)>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Binary(BinaryOperator, Box<(Expression, Expression)>),
    And(Box<(Expression, Expression)>),
    Or(Box<(Expression, Expression)>),
    /// `a ~ b ~ c`.
    Concatenation(Vec<Expression>),
    Comparison(Box<Expression>, Vec<(CompareOperator, Expression)>),
    Conditional {
        test: Box<Expression>,
        yes: Box<Expression>,
        no: Option<Box<Expression>>,
    },
    Attribute(Box<Expression>, Arc<str>),
    Item(Box<(Expression, Expression)>),
    /// Start, stop and step.
    Slice(Box<Expression>, Box<[Option<Expression>; 3]>),
    /// Without a subject it applies to the text of the block it belongs to.
    Filter {
        name: Arc<str>,
        filter: Option<Filter>,
        subject: Option<Box<Expression>>,
        arguments: Vec<Argument>,
    },
    Test {
        name: Arc<str>,
        test: Option<Test>,
        subject: Box<Expression>,
        arguments: Vec<Argument>,
    },
    Call(Box<Expression>, Vec<Argument>),
    MethodCall {
        owner: Box<Expression>,
        name: Arc<str>,
        arguments: Vec<Argument>,
    },
}
