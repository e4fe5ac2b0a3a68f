//! What the targets that derender have in common: an output of a server, and the request that it answers.

use arbitrary::Arbitrary;
use dragoman_derender::Derenderer;

use crate::calls::native;
use crate::client::{Asked, Endpoint};
use crate::output::{Output, Request};
use crate::serving::Server;

/// An output as a chat or as a completion.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    pub server: Server,
    completion: bool,
    logprobs: bool,
    output: Output<'a>,
    request: Request<'a>,
}

impl Case<'_> {
    /// The ids of the output.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.output.ids(&native(self.server))
    }

    /// The request for these ids.
    #[must_use]
    pub fn asked<'c>(&'c self, derenderer: &'c Derenderer, ids: &'c [u32], choices: usize) -> Asked<'c> {
        Asked {
            derenderer,
            endpoint: if self.completion { Endpoint::Completions } else { Endpoint::Chat },
            request: if self.completion { self.request.completion() } else { self.request.chat() },
            prompt: self.output.prompt(),
            ids,
            finish_reason: self.output.finish_reason(),
            logprobs: self.logprobs,
            choices,
        }
    }
}
