//! Where the fields of a converted request come from, so that errors name what the client sent.

use dragoman_protocol::Error;

/// Paths of a chat request and those of the request that it was converted from.
#[derive(Debug, Default)]
pub struct Origins {
    pairs: Vec<(String, String)>,
}

impl Origins {
    /// Notes that the part of the chat request at `path`, with all that is in it, comes from `origin`.
    pub fn note(&mut self, path: impl Into<String>, origin: impl Into<String>) {
        self.pairs.push((path.into(), origin.into()));
    }

    /// An error of the chat request in terms of the client's request: the longest path that is known is replaced, in
    /// the parameter and in the text.
    #[must_use]
    pub fn of_client(&self, error: Error) -> Error {
        let text = |text: String| self.replaced(&text);
        match error {
            Error::Validation { message, param } => {
                Error::Validation { message: text(message), param: text(param) }
            }
            Error::BadRequest { message, param } => {
                Error::BadRequest { message: text(message), param: param.map(text) }
            }
            Error::InvalidRequest { message, param } => {
                Error::InvalidRequest { message: text(message), param: param.map(text) }
            }
            other => other,
        }
    }

    fn replaced(&self, text: &str) -> String {
        let ends = |at: usize| {
            let rest = &text[at..];
            // A path goes on with a point: what is behind it stays, but `messages.1` is no part of `messages.12`.
            !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
        };
        let begins = |at: usize| {
            !text[..at].ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_') && {
                let before = &text[..at];
                !before.ends_with('.') || before.ends_with("body.")
            }
        };
        let found = self.pairs.iter().filter_map(|(path, origin)| {
            let (at, _) =
                text.match_indices(path.as_str()).find(|&(at, _)| begins(at) && ends(at + path.len()))?;
            Some((at, path, origin))
        });
        match found.max_by_key(|(_, path, _)| path.len()) {
            Some((at, path, origin)) => [&text[..at], origin, &text[at + path.len()..]].concat(),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_is_replaced_and_nothing_else() {
        let mut origins = Origins::default();
        origins.note("messages.1", "messages.0");
        origins.note("messages.1.content.0", "messages.0.content.3");
        origins.note("stop", "stop_sequences");
        let shown = |path: &str| origins.of_client(Error::validation(path, format!("{path} is bad")));
        for (path, client) in [
            ("messages.1.content.0.text", "messages.0.content.3.text"),
            ("messages.1.role", "messages.0.role"),
            ("messages.12", "messages.12"),
            ("stop.0", "stop_sequences.0"),
            ("non_stop", "non_stop"),
            ("x.stop", "x.stop"),
        ] {
            let error = shown(path);
            assert_eq!(error.param(), Some(format!("body.{client}").as_str()));
            assert_eq!(error.to_string(), format!("{client} is bad"));
        }
    }
}
