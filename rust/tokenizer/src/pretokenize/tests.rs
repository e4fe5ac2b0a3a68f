//! Against Oniguruma and `tokenizers`.

use onig::Regex;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, SplitDelimiterBehavior};

use super::classes::{
    CLASSES, LETTER, LOWER, MARK, NEWLINE, NUMBER, OTHER, PUNCTUATION, SPACE, SYMBOL, UPPER, code_point,
};
use super::common::contraction;
use super::{Splitter, cl100k, deepseek, gpt2, o200k};

#[path = "../../tests/support/nasty.rs"]
mod nasty;

const STRINGS: usize = if cfg!(debug_assertions) { 20_000 } else { 200_000 };

/// Every code point has the kind that Oniguruma says.
#[test]
fn kinds_are_those_of_oniguruma() {
    let patterns = [
        (r"[\p{Lu}\p{Lt}]", UPPER),
        (r"\p{Ll}", LOWER),
        (r"[\p{Lm}\p{Lo}]", LETTER),
        (r"\p{M}", MARK),
        (r"\p{N}", NUMBER),
        (r"\p{P}", PUNCTUATION),
        (r"\p{S}", SYMBOL),
        (r"[\r\n]", NEWLINE),
        (r"\s", SPACE),
        (r"\p{L}", LETTER),
    ]
    .map(|(pattern, kind)| (Regex::new(pattern).unwrap(), kind));
    for character in '\0'..=char::MAX {
        let text = character.encode_utf8(&mut [0; 4]).to_owned();
        let expected =
            patterns.iter().find(|(pattern, _)| pattern.is_match(&text)).map_or(OTHER, |(_, kind)| *kind);
        let found = CLASSES.at(text.as_bytes(), 0);
        assert_eq!(found, (expected, text.len()), "U+{:04X}", u32::from(character));
        assert_eq!(code_point(text.as_bytes(), 0), (u32::from(character), text.len()));
    }
}

/// No character but those known folds into a contraction.
#[test]
fn contractions_fold_as_in_oniguruma() {
    let pattern = Regex::new(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)").unwrap();
    for character in '\0'..=char::MAX {
        for text in [
            format!("'{character}x"),
            format!("'{character}e"),
            format!("'{character}l"),
            format!("'r{character}"),
            format!("'v{character}"),
            format!("'l{character}"),
        ] {
            let expected = pattern.find(&text).map(|(_, end)| end);
            assert_eq!(contraction(text.as_bytes(), 0), expected, "{text:?}");
        }
    }
}

fn split(pattern: &str) -> Split {
    Split::new(SplitPattern::Regex(pattern.to_owned()), SplitDelimiterBehavior::Isolated, false).unwrap()
}

fn check(splitter: Splitter, steps: &[&dyn Fn(&mut PreTokenizedString)]) {
    let mut random = nasty::Random::new(3);
    for _ in 0..STRINGS {
        let text = random.string(10);
        let mut expected = PreTokenizedString::from(text.as_str());
        for step in steps {
            step(&mut expected);
        }
        let expected: Vec<(usize, usize)> = expected
            .get_splits(OffsetReferential::Original, OffsetType::Byte)
            .into_iter()
            .map(|(_, range, _)| range)
            .collect();
        let mut found = Vec::new();
        splitter.split(text.as_bytes(), |start, end| found.push((start, end)));
        assert_eq!(found, expected, "{splitter:?} on {text:?}");
    }
}

fn check_patterns(patterns: &[&str]) {
    let splits: Vec<Split> = patterns.iter().map(|pattern| split(pattern)).collect();
    let steps: Vec<_> = splits
        .iter()
        .map(|split| move |text: &mut PreTokenizedString| split.pre_tokenize(text).unwrap())
        .collect();
    let steps: Vec<&dyn Fn(&mut PreTokenizedString)> = steps.iter().map(|step| step as _).collect();
    check(Splitter::of_patterns(patterns).unwrap(), &steps);
}

#[test]
fn gpt2_with_and_without_digits() {
    let byte_level = ByteLevel::new(false, true, true);
    check(Splitter::Gpt2 { digits: None }, &[&|text| byte_level.pre_tokenize(text).unwrap()]);
    for individual in [false, true] {
        let digits = Digits::new(individual);
        let steps: [&dyn Fn(&mut PreTokenizedString); 2] =
            [&|text| digits.pre_tokenize(text).unwrap(), &|text| byte_level.pre_tokenize(text).unwrap()];
        check(Splitter::Gpt2 { digits: Some(individual) }, &steps);
    }
    check_patterns(&[gpt2::TEXT]);
}

#[test]
fn cl100k_and_its_variants() {
    for pattern in [cl100k::THREE_DIGITS, cl100k::ONE_DIGIT, cl100k::ONE_DIGIT_MARKS] {
        check_patterns(&[pattern]);
    }
}

#[test]
fn o200k_and_its_variant() {
    for pattern in [o200k::O200K, o200k::TEKKEN] {
        check_patterns(&[pattern]);
    }
}

#[test]
fn deepseek_v3() {
    check_patterns(&[deepseek::NUMBERS, deepseek::CHINESE, deepseek::REST]);
}
