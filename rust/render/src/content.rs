//! Message content: text, parts, and the form that the template reads.

use std::borrow::Cow;

use dragoman_protocol::{Error, Json, Result, fields, json};
use dragoman_template::ContentFormat;

/// The content of a message as the template gets it: text, or a list of `{"type": "text", "text": …}`.
///
/// # Errors
/// A bad-request error for a part that is not understood, or of a kind that this model cannot take.
pub fn content<'a>(
    content: Option<&Json<'a>>,
    format: ContentFormat,
    model: &str,
    path: &str,
) -> Result<Json<'a>> {
    let texts = match content {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::Str(text)) if format == ContentFormat::String => return Ok(Json::Str(text.clone())),
        Some(Json::Str(text)) => vec![text.clone()],
        Some(Json::Array(parts)) => parts
            .iter()
            .enumerate()
            .map(|(index, value)| part(value, model, || fields::join(path, &index.to_string())))
            .collect::<Result<_>>()?,
        Some(other) => return Err(fields::wrong(path, "a string or a list of parts", other)),
    };
    Ok(match format {
        ContentFormat::String => Json::Str(texts.join("\n").into()),
        ContentFormat::OpenAi => json::array(
            texts
                .into_iter()
                .map(|text| {
                    json::object(vec![
                        ("type".into(), Json::Str("text".into())),
                        ("text".into(), Json::Str(text)),
                    ])
                })
                .collect(),
        ),
    })
}

/// The keys under which the known text parts hold their text.
const TEXT_PARTS: [(&str, &str); 5] = [
    ("text", "text"),
    ("input_text", "text"),
    ("output_text", "text"),
    ("refusal", "refusal"),
    ("thinking", "thinking"),
];

/// Parts that only a multimodal model can take.
const MEDIA_PARTS: [&str; 11] = [
    "image_url",
    "input_image",
    "image_pil",
    "image_embeds",
    "audio_url",
    "input_audio",
    "audio_embeds",
    "video_url",
    "video_embeds",
    "prompt_embeds",
    "file",
];

fn part<'a>(part: &Json<'a>, model: &str, path: impl Fn() -> String) -> Result<Cow<'a, str>> {
    if let Json::Str(text) = part {
        return Ok(text.clone());
    }
    let kind = json::get(part, "type").and_then(json::as_str);
    let media = |kind: &str| MEDIA_PARTS.contains(&kind);
    if kind.is_some_and(media)
        || kind.is_none() && MEDIA_PARTS.iter().any(|key| json::get(part, key).is_some())
    {
        return Err(Error::bad_request(format!(
            "{model} is not a multimodal model: {} ({}) cannot be used",
            path(),
            kind.unwrap_or("media")
        )));
    }
    let Some((_, key)) = kind.and_then(|kind| TEXT_PARTS.iter().find(|(name, _)| *name == kind)) else {
        let shown = json::clip(kind.unwrap_or("no type"));
        let message = format!("{} is a content part of an unknown kind: {shown}", path());
        return Err(Error::bad_request(message));
    };
    match json::get(part, key) {
        Some(Json::Str(text)) => Ok(text.clone()),
        _ => Err(Error::bad_request(format!("{}.{key} must be a string", path()))),
    }
}
