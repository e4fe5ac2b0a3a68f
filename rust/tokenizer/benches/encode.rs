//! Megabytes a second beside the `tokenizers` library, and how long a tokenizer takes to load.
//!
//! `cargo bench -p dragoman-tokenizer`. It needs the tokenizers in `../shared/models`; the texts are prose and code
//! of this repository, JSON of `../shared`, and Chinese words drawn from a vocabulary. Words are in the caches of
//! both, as in a server that has run for a while; whole texts are cached only where it says so.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dragoman_tokenizer::{Encode, Tokenizer};

const BYTES: usize = 16 << 10;

fn main() {
    let shared = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let models = ["qwen3", "llama3", "deepseek", "gemma3", "smollm2", "gptoss"];
    let only: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    println!(
        "{:<9} {:<8} {:>11} {:>11} {:>6}   with offsets {:>11} {:>11} {:>6}",
        "model", "text", "library", "here", "ratio", "library", "here", "ratio"
    );
    for model in models.into_iter().filter(|model| only.is_empty() || only.iter().any(|name| name == model)) {
        let Ok(file) = std::fs::read(shared.join("models").join(model).join("tokenizer.json")) else {
            println!("{model}: not in ../shared/models");
            continue;
        };
        bench(model, &file, &shared);
    }
}

fn bench(model: &str, file: &[u8], shared: &Path) {
    let here = Tokenizer::with_cache(file, 0).expect("a tokenizer");
    assert!(here.is_fast());
    for (name, text) in texts(&here, shared) {
        let mut numbers = Vec::new();
        for offsets in [false, true] {
            let library =
                best(|| Encode::encode(here.inner(), &text, false, offsets).map(|found| found.ids.len()));
            let ours = best(|| here.encode(&text, false, offsets).map(|found| found.ids.len()));
            numbers.push((
                speed(&text, library),
                speed(&text, ours),
                library.as_secs_f64() / ours.as_secs_f64(),
            ));
        }
        let (ids, both) = (numbers[0], numbers[1]);
        let cold = cold(file, &text);
        println!(
            "{model:<9} {name:<8} {:>6.1} MB/s {:>6.1} MB/s {:>5.1}x                {:>6.1} MB/s {:>6.1} MB/s {:>5.1}x   \
             with empty caches {:>6.1} MB/s",
            ids.0,
            ids.1,
            ids.2,
            both.0,
            both.1,
            both.2,
            speed(&text, cold)
        );
    }
    conversation(model, file, &here, shared);
    new_chinese(model, &here);
    hard(model, &here);
    let library = best(|| tokenizers::Tokenizer::from_bytes(file).map(|_| 0));
    let ours = best(|| Tokenizer::from_bytes(file).map(|_| 0));
    println!("{model:<9} load     {library:>10.1?} {ours:>10.1?}");
}

/// The very first text that a tokenizer encodes.
fn cold(file: &[u8], text: &str) -> Duration {
    let time = || {
        let tokenizer = Tokenizer::with_cache(file, 0).expect("a tokenizer");
        // Pages of the caches are touched for the first time, but no word is known.
        let _ = tokenizer.encode("a", false, false);
        let start = Instant::now();
        let _ = std::hint::black_box(tokenizer.encode(text, false, false));
        start.elapsed()
    };
    (0..3).map(|_| time()).min().unwrap_or_default()
}

/// A megabyte of what is hard on some algorithm or other.
fn hard(model: &str, here: &Tokenizer) {
    let texts = [
        ("a", "a".repeat(1 << 20)),
        ("blanks", " ".repeat(1 << 20)),
        ("lines", "\n".repeat(1 << 20)),
        ("Chinese", "的".repeat((1 << 20) / 3)),
        ("marks", "a\u{301}\u{323}".repeat((1 << 20) / 5)),
        ("case", "Aa".repeat(1 << 19)),
        ("upper", "A中".repeat(1 << 18)),
        ("half a token", "<|im_".repeat((1 << 20) / 5)),
        (
            "random",
            (0..1_u32 << 20)
                .map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 26))
                .collect(),
        ),
    ];
    print!("{model:<9} a megabyte of");
    for (name, text) in texts {
        let start = Instant::now();
        let _ = std::hint::black_box(here.encode(&text, false, true));
        print!(" {name} {:.0?},", start.elapsed());
    }
    println!();
}

/// The last turn of a conversation of 100 kB, whose turns are set apart by a special token.
fn conversation(model: &str, file: &[u8], uncached: &Tokenizer, shared: &Path) {
    let cached = Tokenizer::from_bytes(file).expect("a tokenizer");
    let special =
        cached.added_tokens().iter().find(|(_, token)| token.special).map(|(_, token)| token.content.clone());
    let special = special.unwrap_or_default();
    let prose: String = texts(uncached, shared).into_iter().map(|(_, text)| text).collect();
    let mut characters = prose.chars().cycle();
    let mut text = String::new();
    let mut turns = Vec::new();
    while text.len() < 100 << 10 {
        text.extend(characters.by_ref().take(1500));
        text.push_str(&special);
        turns.push(text.len());
    }
    // The turns before have been rendered, the last has not: every run has a new one.
    let before = &text[..turns[turns.len() - 2]];
    let mut number = 0;
    let mut next = || {
        number += 1;
        format!("{before}What about number {number}? {}", &text[turns[turns.len() - 2]..])
    };
    let library =
        best(|| Encode::encode(uncached.inner(), &next(), false, false).map(|found| found.ids.len()));
    let here = best(|| cached.encode(&next(), false, false).map(|found| found.ids.len()));
    println!(
        "{model:<9} next turn of 100 kB: library {library:.0?}, here {here:.0?}, {:.0}x",
        library.as_secs_f64() / here.as_secs_f64()
    );
}

fn texts(tokenizer: &Tokenizer, shared: &Path) -> Vec<(&'static str, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut code = String::new();
    for file in ["tokenizer.rs", "fast/encoder.rs", "fast/config.rs", "fast/model.rs", "pretokenize/o200k.rs"]
    {
        code += &std::fs::read_to_string(source.join(file)).unwrap_or_default();
    }
    let comments = |code: &str| -> String {
        let lines = code.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
        lines.map(|line| line.trim_start_matches(['/', '!'])).collect::<Vec<_>>().join("")
    };
    let bugs = std::fs::read_to_string(shared.join("conformance/bugs.jsonl")).unwrap_or_default();
    let summaries: Vec<String> = bugs
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|bug| Some(bug["summary"].as_str()?.to_owned() + "\n"))
        .collect();
    let prose = summaries.concat() + &comments(&code);
    let json = std::fs::read_to_string(shared.join("wire/schema.json")).unwrap_or_default();
    let all = [("prose", prose), ("code", code), ("json", json), ("chinese", chinese(tokenizer, BYTES))];
    all.into_iter().map(|(name, text)| (name, cut(&text))).collect()
}

/// Text of some bytes of Chinese words of the vocabulary, the frequent ones more often, with a comma or a full stop
/// at times.
fn chinese(tokenizer: &Tokenizer, bytes: usize) -> String {
    let is_chinese =
        |text: &str| text.chars().all(|character| ('\u{4e00}'..='\u{9fa5}').contains(&character));
    let ids = 0..u32::try_from(tokenizer.vocab_size()).unwrap_or_default();
    let words: Vec<String> = ids
        .filter_map(|id| tokenizer.decode(&[id], false).ok())
        .filter(|word| !word.is_empty() && is_chinese(word))
        .collect();
    let mut text = String::new();
    let mut state = 1_u64;
    while text.len() < bytes && !words.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = |shift: u32| usize::try_from(state >> shift).unwrap_or_default() % words.len();
        // The least of three draws: earlier words, which are the more frequent ones, come more often.
        text += &words[random(20).min(random(30)).min(random(40))];
        match state >> 59 & 15 {
            0 => text += "。",
            1 => text += "，",
            _ => {}
        }
    }
    text
}

/// Chinese that neither has seen, after as much that both have: words of that are long, and few come again.
fn new_chinese(model: &str, here: &Tokenizer) {
    let text = chinese(here, 64 * BYTES);
    let documents: Vec<&str> = {
        let ends = (0..=64).map(|part| (0..=part * BYTES).rev().find(|&end| text.is_char_boundary(end)));
        let ends: Vec<usize> = ends.flatten().collect();
        ends.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect()
    };
    let time = |encoder: &dyn Fn(&str)| {
        documents[..32].iter().for_each(|document| encoder(document));
        let start = Instant::now();
        documents[32..].iter().for_each(|document| encoder(document));
        start.elapsed() / 32
    };
    let library = time(&|text| drop(Encode::encode(here.inner(), text, false, false)));
    let ours = time(&|text| drop(here.encode(text, false, false)));
    println!(
        "{model:<9} new chinese: library {:.1} MB/s, here {:.1} MB/s, {:.0}x",
        speed(documents[0], library),
        speed(documents[0], ours),
        library.as_secs_f64() / ours.as_secs_f64()
    );
}

fn cut(text: &str) -> String {
    let text = text.repeat(BYTES / text.len().max(1) + 1);
    let end = (0..=BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    text[..end].to_owned()
}

/// The best time of many runs, after one that warms the caches.
fn best<E: std::fmt::Debug>(mut run: impl FnMut() -> Result<usize, E>) -> Duration {
    let begin = Instant::now();
    let mut best = Duration::MAX;
    let mut runs = 0;
    while runs < 3 || (begin.elapsed() < Duration::from_millis(300) && runs < 2000) {
        let start = Instant::now();
        std::hint::black_box(run()).expect("no error");
        best = best.min(start.elapsed());
        runs += 1;
    }
    best
}

fn speed(text: &str, time: Duration) -> f64 {
    f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX)) / time.as_secs_f64() / 1e6
}
