//! The ids that a template puts around a text, such as a BOS.

use serde_json::Value;

/// The ids around the text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Around {
    /// In front.
    pub before: Vec<u32>,
    /// Behind.
    pub after: Vec<u32>,
    /// Whether the offsets leave out white space at a token's ends.
    pub trims_offsets: bool,
}

impl Around {
    /// Reads a post-processor as `tokenizers` writes it; none for one that is not known here.
    pub fn read(processor: &Value) -> Option<Self> {
        let mut around = Self::default();
        around.add(processor)?;
        Some(around)
    }

    fn add(&mut self, processor: &Value) -> Option<()> {
        if processor.is_null() {
            return Some(());
        }
        match processor.get("type")?.as_str()? {
            "ByteLevel" => self.trims_offsets |= processor.get("trim_offsets")?.as_bool()?,
            "TemplateProcessing" => self.add_template(processor)?,
            "Sequence" => {
                for processor in processor.get("processors")?.as_array()? {
                    self.add(processor)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn add_template(&mut self, processor: &Value) -> Option<()> {
        // A second template would go around the first; no file has one.
        if !self.before.is_empty() || !self.after.is_empty() {
            return None;
        }
        let mut text_seen = false;
        for piece in processor.get("single")?.as_array()? {
            if let Some(token) = piece.get("SpecialToken") {
                let token = processor.get("special_tokens")?.get(token.get("id")?.as_str()?)?;
                let ids = token.get("ids")?.as_array()?.iter().map(|id| u32::try_from(id.as_u64()?).ok());
                let ids = ids.collect::<Option<Vec<u32>>>()?;
                if text_seen { self.after.extend(ids) } else { self.before.extend(ids) }
            } else if text_seen || piece.get("Sequence")?.get("id")?.as_str()? != "A" {
                return None;
            } else {
                text_seen = true;
            }
        }
        text_seen.then_some(())
    }
}
