//! Where a template writes to: the output itself, or the text of a macro or block being captured.

/// The output, and the texts being captured above it.
#[derive(Debug, Default)]
pub(crate) struct Output {
    text: String,
    captures: Vec<String>,
    spans: Vec<(usize, usize)>,
    /// Code points in `text` up to `counted_bytes`.
    counted_points: usize,
    counted_bytes: usize,
}

impl Output {
    /// The text that is being written to.
    pub fn current(&mut self) -> &mut String {
        self.captures.last_mut().unwrap_or(&mut self.text)
    }

    /// Begins a text of its own.
    pub fn capture(&mut self) {
        self.captures.push(String::new());
    }

    /// Ends the text begun last.
    pub fn end_capture(&mut self) -> String {
        self.captures.pop().unwrap_or_default()
    }

    /// Notes that a generation block wrote a text of this many code points.
    ///
    /// transformers measures from the start of the *output*, even inside a macro, whose text is not there yet.
    pub fn generated(&mut self, length: usize) {
        self.counted_points += crate::text::length(&self.text[self.counted_bytes..]);
        self.counted_bytes = self.text.len();
        self.spans.push((self.counted_points, self.counted_points + length));
    }

    /// The whole output.
    pub fn finish(&mut self) -> (String, Vec<(usize, usize)>) {
        (std::mem::take(&mut self.text), std::mem::take(&mut self.spans))
    }
}
