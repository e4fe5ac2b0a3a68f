//! `tests/conformance/differences.toml`: where an answer differs from the data on purpose.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::root;

/// Deliberate differences from the data, each with its reason: names of cases, `*` standing for any characters and
/// `/FIRST-LAST` at the end for the prefixes of these lengths.
pub struct Differences {
    names: Vec<String>,
    /// Those that stand for a case that differs.
    used: RefCell<BTreeSet<String>>,
}

impl Differences {
    /// Reads `tests/conformance/differences.toml`.
    pub fn read() -> Self {
        let path = root().join("tests/conformance/differences.toml");
        let text = std::fs::read_to_string(path).expect("the list of differences");
        let table: toml::Table = text.parse().expect("a table");
        let derender = table["derender"].as_table().expect("a table");
        Self { names: derender.keys().cloned().collect(), used: RefCell::default() }
    }

    /// Whether a case that differs is listed.
    pub fn lists(&self, name: &str) -> bool {
        let found = self.names.iter().find(|pattern| matches(pattern, name));
        self.used.borrow_mut().extend(found.cloned());
        found.is_some()
    }

    /// Listed names of a test's own that stood for no case that differs, once all of its cases ran.
    pub fn unused(&self, is_own: impl Fn(&str) -> bool) -> Vec<&str> {
        let used = self.used.borrow();
        let filtered = std::env::var_os("DRAGOMAN_CASES").is_some();
        let names = self.names.iter().filter(|name| !filtered && is_own(name) && !used.contains(*name));
        names.map(String::as_str).collect()
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    if let Some((start, end)) = pattern.split_once('*') {
        return name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end);
    }
    let range =
        pattern.rsplit_once('/').zip(name.rsplit_once('/')).and_then(|((listed, range), (case, number))| {
            let (first, last) = range.split_once('-')?;
            let range = first.parse::<u32>().ok()?..=last.parse().ok()?;
            Some(listed == case && range.contains(&number.parse().ok()?))
        });
    range.unwrap_or(pattern == name)
}
