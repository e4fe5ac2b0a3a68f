//! Arbitrary outputs of a model: ids that look like calls, reasoning and text, and what was asked for.

use arbitrary::Arbitrary;
use serde_json::{Map, Value, json};

use crate::calls::{CALLS, write_with_markers};
use crate::tokenizer::{EOS, FIRST_MARKER, MARKERS, SIZE};

/// Texts that stand between markers in the forms of calls.
const FRAGMENTS: &[&str] = &[
    "{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}",
    "[{\"name\": \"get\", \"parameters\": {\"city\": \"Oslo\", \"n\": 3}}]",
    "{\"name\": \"",
    "\", \"arguments\": {",
    "\"city\": \"",
    "{\"tool_name\": \"get\", \"parameters\": {}}",
    "{\"get\": {\"n\": 1}}",
    "get",
    "[get(city='Oslo', n=-3.5e2), set(tags=[\"a\", None, {'b': True}])]",
    "get(city=\"Os",
    "<function=get>",
    "<parameter=city>",
    "</parameter>",
    "</function>",
    "<invoke name=\"get\">",
    "<parameter name=\"n\">",
    "</invoke>",
    "<｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜invoke name=\"get\">",
    "<｜DSML｜parameter name=\"n\" string=\"false\">",
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
    "</｜DSML｜function_calls>",
    "<steptml:invoke name=\"get\">",
    "<steptml:parameter name=\"city\">",
    "</steptml:parameter>",
    "</steptml:invoke>",
    "call:get{city:<escape>Oslo<escape>,n:3}",
    "call:get{city:<|\"|>Oslo<|\"|>,tags:[",
    "functions.get:0",
    "function\nget\n```json\n{\"city\": \"Oslo\"}\n```",
    "analysis",
    "commentary to=functions.get ",
    "final",
    "assistant",
    "json",
    "Oslo\n",
    "12",
    "true",
    "null",
    "\\u00e9\\ud83d\\ude00\\",
    "\"",
    "'",
    "}",
    "]",
    ", ",
    "\n",
    " ",
    "é😀中",
];

/// Ids of an output: more of them only take time.
const MAX_IDS: usize = 400;

/// A part of an output.
#[derive(Debug, Arbitrary)]
enum Piece<'a> {
    /// A call in the form of the server's parser.
    Native(u8),
    /// The first bytes of one.
    NativeCut(u8, u8),
    /// A call in any form, or reasoning.
    Call(u8),
    /// The first bytes of a call.
    Cut(u8, u8),
    /// A marker as its token.
    Marker(u8),
    /// A marker, spelled out.
    Spelled(u8),
    /// The first bytes of a marker.
    Begun(u8, u8),
    Fragment(u8),
    Text(&'a str),
    Bytes(&'a [u8]),
    Eos,
    Repeated(u8, u8),
}

fn pick<'t>(texts: &[&'t str], number: u8) -> &'t str {
    texts[usize::from(number) % texts.len()]
}

impl Piece<'_> {
    fn write(&self, native: &[&str], ids: &mut Vec<u32>) {
        match *self {
            Self::Native(number) => return write_with_markers(pick(native, number), ids),
            Self::Call(number) => return write_with_markers(pick(CALLS, number), ids),
            Self::NativeCut(number, length) | Self::Cut(number, length) => {
                let call = pick(if matches!(self, Self::Cut(..)) { CALLS } else { native }, number);
                let length = call.floor_char_boundary(usize::from(length) % call.len());
                return write_with_markers(&call[..length], ids);
            }
            _ => {}
        }
        let mut bytes = |bytes: &[u8]| ids.extend(bytes.iter().copied().map(u32::from));
        match *self {
            Self::Native(_) | Self::NativeCut(..) | Self::Call(_) | Self::Cut(..) => {}
            Self::Marker(number) => ids.push(FIRST_MARKER + u32::from(number) % (SIZE - FIRST_MARKER)),
            Self::Spelled(number) => bytes(pick(MARKERS, number).as_bytes()),
            Self::Begun(number, length) => {
                let marker = pick(MARKERS, number).as_bytes();
                bytes(&marker[..usize::from(length) % marker.len()]);
            }
            Self::Fragment(number) => bytes(pick(FRAGMENTS, number).as_bytes()),
            Self::Text(text) => bytes(text.as_bytes()),
            Self::Bytes(text) => bytes(text),
            Self::Eos => ids.push(EOS),
            Self::Repeated(byte, count) => bytes(&vec![byte; usize::from(count)]),
        }
    }
}

/// Types of a tool's parameters.
#[derive(Debug, Arbitrary)]
enum Kind {
    Text,
    Integer,
    Number,
    Truth,
    List,
    Object,
    Either,
    Untyped,
    /// A schema that is none.
    Odd(Json),
}

impl Kind {
    fn schema(&self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Integer => json!({"type": "integer"}),
            Self::Number => json!({"type": "number"}),
            Self::Truth => json!({"type": "boolean"}),
            Self::List => json!({"type": "array", "items": {"type": "string"}}),
            Self::Object => json!({"type": "object", "properties": {"city": {"type": "integer"}}}),
            Self::Either => json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            Self::Untyped => json!({}),
            Self::Odd(json) => json.value(),
        }
    }
}

/// A tool: its parameters are `city`, `n` and `tags`.
#[derive(Debug, Arbitrary)]
struct Tool {
    named_get: bool,
    parameters: [Kind; 3],
    /// The whole schema, in place of that.
    odd: Option<Json>,
}

impl Tool {
    fn value(&self) -> Value {
        let names = ["city", "n", "tags"];
        let properties: Map<String, Value> = names
            .iter()
            .zip(&self.parameters)
            .map(|(name, kind)| ((*name).to_owned(), kind.schema()))
            .collect();
        let schema = match &self.odd {
            Some(odd) => odd.value(),
            None => json!({"type": "object", "properties": properties}),
        };
        let name = if self.named_get { "get" } else { "set" };
        json!({"type": "function", "function": {"name": name, "parameters": schema}})
    }
}

/// A JSON value of at most a few levels.
#[derive(Debug)]
pub struct Json(Value);

impl Json {
    /// The value.
    #[must_use]
    pub fn value(&self) -> Value {
        self.0.clone()
    }
}

impl<'a> Arbitrary<'a> for Json {
    fn arbitrary(source: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        value(source, 4).map(Self)
    }
}

fn value(source: &mut arbitrary::Unstructured<'_>, depth: u8) -> arbitrary::Result<Value> {
    Ok(match source.int_in_range(0..=if depth == 0 { 5 } else { 7 })? {
        0 => Value::Null,
        1 => json!(source.arbitrary::<bool>()?),
        2 => json!(source.arbitrary::<i64>()?),
        3 => json!(source.arbitrary::<f64>()?),
        4 => json!(source.arbitrary::<&str>()?),
        5 => json!(pick(FRAGMENTS, source.arbitrary()?)),
        6 => {
            let count = source.int_in_range(0..=3)?;
            (0..count).map(|_| value(source, depth - 1)).collect::<arbitrary::Result<Vec<_>>>()?.into()
        }
        _ => {
            let keys =
                ["type", "properties", "city", "anyOf", "enum", "$ref", "items", "text", "role", "name"];
            let mut object = Map::new();
            for _ in 0..source.int_in_range(0..=3)? {
                object.insert(pick(&keys, source.arbitrary()?).to_owned(), value(source, depth - 1)?);
            }
            object.into()
        }
    })
}

/// The client's choice of tools.
#[derive(Debug, Arbitrary)]
enum Choice {
    /// There are no tools.
    Toolless,
    Unsaid,
    Auto,
    Nothing,
    Required,
    Named,
}

/// What the client asked for.
#[expect(clippy::struct_excessive_bools, reason = "they are the wire's")]
#[derive(Debug, Arbitrary)]
pub struct Request<'a> {
    choice: Choice,
    stop: Option<&'a str>,
    /// A stop string that stands in many outputs, by its place among the fragments.
    fragment: Option<u8>,
    return_token_ids: bool,
    echo: bool,
    include_stop: bool,
    parallel: bool,
    include_reasoning: bool,
    skip_special_tokens: bool,
    min_tokens: u8,
    tools: Vec<Tool>,
}

impl Request<'_> {
    /// What both endpoints take.
    fn sampling(&self) -> Value {
        let stops = [self.stop, self.fragment.map(|number| pick(FRAGMENTS, number))];
        let stops: Vec<&str> = stops.into_iter().flatten().filter(|stop| !stop.is_empty()).collect();
        json!({
            "stop": stops,
            "include_stop_str_in_output": self.include_stop,
            "skip_special_tokens": self.skip_special_tokens,
            "min_tokens": self.min_tokens / 8,
            "return_token_ids": self.return_token_ids,
        })
    }

    /// The `completion_request`.
    #[must_use]
    pub fn completion(&self) -> Value {
        let mut request = self.sampling();
        request["prompt"] = json!("x");
        request["echo"] = json!(self.echo);
        request
    }

    /// The `chat_request`.
    #[must_use]
    pub fn chat(&self) -> Value {
        let mut request = self.sampling();
        request["messages"] = json!([{"role": "user", "content": "x"}]);
        request["parallel_tool_calls"] = json!(self.parallel);
        request["include_reasoning"] = json!(self.include_reasoning);
        if !matches!(self.choice, Choice::Toolless) {
            let mut tools: Vec<Value> = self.tools.iter().take(3).map(Tool::value).collect();
            if tools.is_empty() {
                let parameters = [Kind::Text, Kind::Integer, Kind::List];
                tools.push(Tool { named_get: true, parameters, odd: None }.value());
            }
            request["tools"] = tools.into();
            match self.choice {
                Choice::Toolless | Choice::Unsaid => {}
                Choice::Auto => request["tool_choice"] = json!("auto"),
                Choice::Nothing => request["tool_choice"] = json!("none"),
                Choice::Required => request["tool_choice"] = json!("required"),
                Choice::Named => {
                    let name = request["tools"][0]["function"]["name"].clone();
                    request["tool_choice"] = json!({"type": "function", "function": {"name": name}});
                }
            }
        }
        request
    }
}

/// An output and the prompt before it.
#[derive(Debug, Arbitrary)]
pub struct Output<'a> {
    cut_by_length: bool,
    /// First, since what is read of a short input comes first.
    pieces: Vec<Piece<'a>>,
    prompt: Option<Vec<Piece<'a>>>,
}

impl Output<'_> {
    /// The output's ids, with calls of `native`; never none, which the wire refuses.
    #[must_use]
    pub fn ids(&self, native: &[&str]) -> Vec<u32> {
        let mut ids = Vec::new();
        self.pieces.iter().for_each(|piece| piece.write(native, &mut ids));
        ids.truncate(MAX_IDS);
        if ids.is_empty() {
            ids.push(EOS);
        }
        ids
    }

    /// The prompt's ids, where they are sent.
    #[must_use]
    pub fn prompt(&self) -> Option<Vec<u32>> {
        let mut ids = vec![u32::from(b'x')];
        self.prompt.as_ref()?.iter().for_each(|piece| piece.write(CALLS, &mut ids));
        Some(ids)
    }

    /// Why the generation ended.
    #[must_use]
    pub fn finish_reason(&self) -> &'static str {
        if self.cut_by_length { "length" } else { "stop" }
    }
}
