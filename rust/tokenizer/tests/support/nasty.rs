//! Strings that are hard to tokenize, from a seed: the same on every run.

#[rustfmt::skip]
const PARTS: &[&str] = &[
    " ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\r", "\t", "\u{a0}", "\u{3000}", "\u{2009}", "\u{85}",
    "\u{b}", "\u{c}", "\u{1c}", "\u{200b}", "\u{2028}", "'", "''", "'s", "'S", "'t", "'ll", "'LL", "'lL", "'re", "'ve",
    "'d", "'m", "'\u{17f}", "\u{2019}s", "'r", "'e", "a", "A", "z", "the", "The", "THE", "word", "Word", "iPhone",
    "HTMLParser", "getElementById", "snake_case", "isn't", "DON'T", "1", "12", "123", "1234", "1234567", "3.14", "½",
    "²", "٣", "०", "Ⅷ", "①", "〇", "!", "!!", "?", ".", "...", ",", ";", "/", "//", "\\", "(", ")", "[", "]", "{", "}",
    "<", ">", "</", ">\u{2581}</", "\"", "#", "$", "%", "&", "*", "+", "-", "--", "=", "==", "@", "^", "_", "`", "~",
    "|", "。", "、", "·", "—", "…", "€", "∑", "⇒", "中", "文", "中文", "漢字", "一", "龥", "鿿", "㐀", "𠀀", "日本語",
    "カ", "ー", "・", "゠", "ぁ", "\u{3040}", "\u{3097}", "\u{3099}", "゛", "ｶﾞ", "한국어", "각", "\u{1100}\u{1161}\u{11a8}",
    "é", "e\u{301}", "e\u{301}\u{323}", "\u{301}", "\u{323}\u{301}", "ñ", "n\u{303}", "ü", "Å", "\u{212b}", "\u{2126}",
    "ﬁ", "ŉ", "ǅ", "ʰ", "ª", "ß", "ẞ", "İ", "ı", "Σ", "ς", "привет", "Привет", "Ω", "γειά", "שלום", "שָׁלוֹם", "مرحبا",
    "مَرْحَبًا", "नमस्ते", "क\u{93c}", "\u{958}", "ไทย", "ภาษา", "தமிழ்", "\u{e33}", "😀", "👍🏽", "👩\u{200d}👩\u{200d}👧", "🇩🇪",
    "❤\u{fe0f}", "\u{fe0f}", "\u{200d}", "\u{feff}", "\u{fffd}", "\u{e000}", "\u{378}", "\u{10ffff}", "\0", "\u{1}", "\u{1b}",
    "\u{7f}", "\u{ad}", "\u{2581}", "\u{2581}\u{2581}", "Ġ", "Ċ", "<0x0A>", "<s>", "</s>", "<unk>", "<bos>", "<|im_start|>",
    "<|im_end|>", "<|endoftext|>", "<|begin_of_text|>", "<|im_sta", "<think>", "</think>", "<tool_call>", "<｜User｜>",
    "<｜end▁of▁sentence｜>", "<start_of_turn>", "<end_of_turn>", "<|start|>", "<|channel|>", "[multimodal]", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "                        ", "\n\n\n\n\n", "ああああああああああああ", "0000000000", "------------------------", "ㅋㅋㅋㅋㅋㅋㅋㅋ",
];

/// A generator of pseudo-random numbers (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % bound as u64).unwrap()
    }

    fn character(&mut self) -> char {
        let bound = [0x80, 0x250, 0x600, 0x3000, 0x1_0000, 0x2_0000, 0x11_0000][self.below(7)];
        loop {
            if let Some(character) = char::from_u32(u32::try_from(self.below(bound)).unwrap()) {
                return character;
            }
        }
    }

    /// A string of up to about `parts` parts.
    pub fn string(&mut self, parts: usize) -> String {
        let mut text = String::new();
        // Some strings draw from few parts, so that these meet often.
        let few: Vec<&str> = (0..4).map(|_| PARTS[self.below(PARTS.len())]).collect();
        let mode = self.below(4);
        for _ in 0..self.below(parts + 1) {
            match (mode, self.below(8)) {
                (0, _) => text.push_str(few[self.below(few.len())]),
                (1, _) | (_, 0) => text.push(self.character()),
                (2, 1..4) => text.push(' '),
                _ => text.push_str(PARTS[self.below(PARTS.len())]),
            }
        }
        text
    }
}
