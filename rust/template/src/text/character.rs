//! Properties of characters that the standard library does not tell apart.

/// What kind of digit a character is; each kind includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DigitKind {
    /// `str.isdecimal`: a digit of a positional number.
    Decimal,
    /// `str.isdigit`: also superscripts, circled digits and the like.
    Digit,
    /// `str.isnumeric`: anything with a numeric value.
    Numeric,
}

/// The zeros of the decimal digits: each starts a run of ten (Unicode 14, category Nd).
const ZEROS: [u32; 60] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1e140, 0x1e2f0, 0x1e950,
];

/// Runs of characters that are digits though not decimal (Unicode 14, `Numeric_Type=Digit`).
const DIGITS: [(u32, u32); 21] = [
    (0xb2, 0xb3),
    (0xb9, 0xb9),
    (0x1369, 0x1371),
    (0x19da, 0x19da),
    (0x2070, 0x2070),
    (0x2074, 0x2079),
    (0x2080, 0x2089),
    (0x2460, 0x2468),
    (0x2474, 0x247c),
    (0x2488, 0x2490),
    (0x24ea, 0x24ea),
    (0x24f5, 0x24fd),
    (0x24ff, 0x24ff),
    (0x2776, 0x277e),
    (0x2780, 0x2788),
    (0x278a, 0x2792),
    (0x10a40, 0x10a43),
    (0x10e60, 0x10e68),
    (0x11052, 0x1105a),
    (0x1f100, 0x1f10a),
    (0x1d7ce, 0x1d7ce),
];

/// Ideographs with a numeric value.
const NUMERALS: &str = "一二三四五六七八九十百千万億兆零〇两兩壹贰叁肆伍陆柒捌玖拾佰仟萬亿壱弐参貳參陸";

/// The kind of digit a character is, if any.
pub(crate) fn digit_kind(character: char) -> Option<DigitKind> {
    let code = u32::from(character);
    let decimal = ZEROS.iter().any(|&zero| (zero..zero + 10).contains(&code))
        || (0x1d7ce..=0x1d7ff).contains(&code)
        || (0x1fbf0..=0x1fbf9).contains(&code);
    if decimal {
        Some(DigitKind::Decimal)
    } else if DIGITS.iter().any(|&(first, last)| (first..=last).contains(&code)) {
        Some(DigitKind::Digit)
    } else if character.is_numeric() || NUMERALS.contains(character) {
        Some(DigitKind::Numeric)
    } else {
        None
    }
}

/// Whether a character has a case: upper, lower or title.
pub(crate) fn is_cased(character: char) -> bool {
    character.is_lowercase() || character.is_uppercase() || is_titlecase(character)
}

/// Category Lt.
pub(crate) fn is_titlecase(character: char) -> bool {
    matches!(u32::from(character), 0x1c5 | 0x1c8 | 0x1cb | 0x1f2 | 0x1f88..=0x1f8f | 0x1f98..=0x1f9f
        | 0x1fa8..=0x1faf | 0x1fbc | 0x1fcc | 0x1ffc)
}
