//! Chat templates, rendered as Hugging Face transformers renders them.
//!
//! transformers runs a template in jinja2's immutable sandbox on `CPython`, and templates lean on that: on Python's
//! truth values, number texts, `str` methods, `repr` of lists, errors of undefined values. `MiniJinja` has the grammar
//! but other values. So this crate takes `MiniJinja`'s parser and runs its tree on Python's values:
//!
//! | module | what |
//! |---|---|
//! | `front` | source to program: jinja2's lexer, MiniJinja's parser, jinja2's scopes |
//! | `eval` | runs a program |
//! | `value` | Python's values: equality, order, iteration, `str` and `repr` |
//! | `text` | Python's text: case, whitespace, float texts |
//! | `filters`, `tests`, `methods`, `globals` | what templates call |
//! | `budget` | bounds on one run |
//! | `chat` | [`ChatTemplate`], `continue_final_message` |
//! | `normalize` | what transformers does to messages before |

mod budget;
mod chat;
mod error;
mod eval;
mod filters;
mod front;
mod globals;
mod methods;
mod normalize;
mod strftime;
mod tests;
mod text;
mod value;

pub use budget::Budget;
pub use chat::{ChatTemplate, Rendered, TemplateInput};
pub use chrono::NaiveDateTime;
pub use error::TemplateError;
pub use front::ContentFormat;
pub use normalize::{alias_reasoning, drop_null_fields};
