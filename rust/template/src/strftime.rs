//! `strftime` as glibc does it in the C locale.

use std::fmt::Write as _;

use chrono::{Datelike, NaiveDateTime, Timelike};

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Formats a local time that knows no zone. A directive that is not known stays as it is.
pub(crate) fn strftime(now: &NaiveDateTime, format: &str) -> String {
    let mut out = String::with_capacity(format.len() * 2);
    let mut rest = format.chars();
    while let Some(character) = rest.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let before = rest.clone();
        let mut flag = None;
        let mut directive = rest.next();
        if let Some(given @ ('-' | '_' | '0' | '^' | '#')) = directive {
            flag = Some(given);
            directive = rest.next();
        }
        let known = directive.and_then(|directive| field(now, directive, flag));
        if let (Some(text), _) = (known, directive) {
            out.push_str(&text);
        } else {
            out.push('%');
            rest = before;
        }
    }
    out
}

/// A number, padded to a width with zeros or spaces, or not at all.
fn number(value: i64, width: usize, padding: char, flag: Option<char>) -> String {
    match flag {
        Some('-') => value.to_string(),
        Some('_') => format!("{value:width$}"),
        Some('0') => format!("{value:0width$}"),
        _ if padding == ' ' => format!("{value:width$}"),
        _ => format!("{value:0width$}"),
    }
}

fn field(now: &NaiveDateTime, directive: char, flag: Option<char>) -> Option<String> {
    let day = DAYS[now.weekday().num_days_from_sunday() as usize % 7];
    let month = MONTHS[now.month0() as usize % 12];
    let year = i64::from(now.year());
    let hour12 = i64::from(now.hour12().1);
    let pad = |value: u32, width: usize| number(i64::from(value), width, '0', flag);
    let text = match directive {
        'a' => day[..3].to_owned(),
        'A' => day.to_owned(),
        'b' | 'h' => month[..3].to_owned(),
        'B' => month.to_owned(),
        'C' => number(year.div_euclid(100), 2, '0', flag),
        'd' => pad(now.day(), 2),
        'e' => number(i64::from(now.day()), 2, ' ', flag),
        'D' | 'x' => strftime(now, "%m/%d/%y"),
        'F' => strftime(now, "%Y-%m-%d"),
        'T' | 'X' => strftime(now, "%H:%M:%S"),
        'R' => strftime(now, "%H:%M"),
        'r' => strftime(now, "%I:%M:%S %p"),
        'c' => strftime(now, "%a %b %e %H:%M:%S %Y"),
        'f' => format!("{:06}", now.nanosecond() / 1000 % 1_000_000),
        'g' => number(i64::from(now.iso_week().year()).rem_euclid(100), 2, '0', flag),
        'G' => i64::from(now.iso_week().year()).to_string(),
        'V' => pad(now.iso_week().week(), 2),
        'H' => pad(now.hour(), 2),
        'k' => number(i64::from(now.hour()), 2, ' ', flag),
        'I' => number(hour12, 2, '0', flag),
        'l' => number(hour12, 2, ' ', flag),
        'j' => pad(now.ordinal(), 3),
        'm' => pad(now.month(), 2),
        'M' => pad(now.minute(), 2),
        'p' => if now.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        'P' => if now.hour() < 12 { "am" } else { "pm" }.to_owned(),
        's' => now.and_utc().timestamp().to_string(),
        'S' => pad(now.second(), 2),
        'u' => now.weekday().number_from_monday().to_string(),
        'w' => now.weekday().num_days_from_sunday().to_string(),
        'U' => pad((now.ordinal() + 6 - now.weekday().num_days_from_sunday()) / 7, 2),
        'W' => pad((now.ordinal() + 6 - now.weekday().num_days_from_monday()) / 7, 2),
        'y' => number(year.rem_euclid(100), 2, '0', flag),
        'Y' => year.to_string(),
        'n' => "\n".to_owned(),
        't' => "\t".to_owned(),
        // A time that knows no zone has no name or offset for it.
        'z' | 'Z' => String::new(),
        '%' => "%".to_owned(),
        _ => return None,
    };
    let mut out = String::new();
    let _ = match flag {
        Some('^') => write!(out, "{}", text.to_uppercase()),
        _ => write!(out, "{text}"),
    };
    Some(out)
}
