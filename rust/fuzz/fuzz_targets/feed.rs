//! Any output, as a chat through any two parsers or as a completion, cut anywhere: no panic, and one answer.

#![no_main]

use arbitrary::Arbitrary;
use dragoman_fuzz::calls::native;
use dragoman_fuzz::client::{Asked, Endpoint};
use dragoman_fuzz::output::{Output, Request};
use dragoman_fuzz::serving::Server;
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    server: Server,
    sizes: [u8; 4],
    completion: bool,
    logprobs: bool,
    second: bool,
    output: Output<'a>,
    request: Request<'a>,
}

fuzz_target!(|input: Input| {
    let ids = input.output.ids(&native(input.server));
    let asked = Asked {
        derenderer: &input.server.derenderer(),
        endpoint: if input.completion { Endpoint::Completions } else { Endpoint::Chat },
        request: if input.completion { input.request.completion() } else { input.request.chat() },
        prompt: input.output.prompt(),
        ids: &ids,
        finish_reason: input.output.finish_reason(),
        logprobs: input.logprobs,
        choices: 1 + usize::from(input.second),
    };
    let names = input.server.names();
    match (asked.whole(), asked.streamed(&input.sizes)) {
        (Ok(whole), Ok(streamed)) => assert_eq!(whole, streamed, "one-shot and streamed, {names:?}"),
        (Err(whole), Err(_)) => assert_ne!(whole.kind(), "internal", "{whole}, {names:?}"),
        (whole, streamed) => panic!("one is refused, {names:?}: {whole:?}\n{streamed:?}"),
    }
});
