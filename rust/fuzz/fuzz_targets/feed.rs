//! Any output, as a chat through any two parsers or as a completion, cut anywhere: no panic, and one answer.

#![no_main]

use arbitrary::Arbitrary;
use dragoman_fuzz::case::Case;
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    sizes: [u8; 4],
    second: bool,
    case: Case<'a>,
}

fuzz_target!(|input: Input| {
    let (ids, derenderer) = (input.case.ids(), input.case.server.derenderer());
    let asked = input.case.asked(&derenderer, &ids, 1 + usize::from(input.second));
    let names = input.case.server.names();
    match (asked.whole(), asked.streamed(&input.sizes)) {
        (Ok(whole), Ok(streamed)) => assert_eq!(whole, streamed, "one-shot and streamed, {names:?}"),
        (Err(whole), Err(_)) => assert_ne!(whole.kind(), "internal", "{whole}, {names:?}"),
        (whole, streamed) => panic!("one is refused, {names:?}: {whole:?}\n{streamed:?}"),
    }
});
