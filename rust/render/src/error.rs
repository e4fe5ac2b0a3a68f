//! How the faults of template and tokenizer are told to a client.

use dragoman_protocol::Error;
use dragoman_template::TemplateError;

/// A template's refusal is a fault of the request: the template raises where a conversation does not suit it.
pub fn template(error: &TemplateError) -> Error {
    Error::bad_request(error.to_string())
}

/// A text that the tokenizer has no tokens for.
pub fn tokenizer(error: &dragoman_tokenizer::Error) -> Error {
    Error::bad_request(error.to_string())
}
