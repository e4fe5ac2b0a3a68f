//! What the tests of this crate share: models, cases, and a client that derenders in chunks.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod differences;
pub mod fixtures;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use dragoman_derender::Derenderer;
use dragoman_protocol::ServingConfig;
use dragoman_tokenizer::Tokenizer;
use serde_json::{Map, Value, json};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The shared data beside the repository, where it is there; it must be where `DRAGOMAN_REQUIRE_SHARED` is 1.
pub fn shared() -> Option<PathBuf> {
    let path = root().join("../shared");
    let found = path.join("conformance").is_dir();
    let required = std::env::var("DRAGOMAN_REQUIRE_SHARED").is_ok_and(|value| value == "1");
    assert!(found || !required, "DRAGOMAN_REQUIRE_SHARED is 1, and there is no ../shared");
    found.then_some(path)
}

/// The cases of a file.
pub fn cases(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a file of cases");
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

/// A file of cases of one pair of parsers.
pub struct ParserFile {
    pub name: String,
    pub cases: Vec<Value>,
    /// How the reference was started.
    pub flags: Vec<String>,
}

/// The files of `conformance/derender` that have a parser, in the order of their names.
pub fn parser_files(shared: &Path) -> impl Iterator<Item = ParserFile> {
    let entries = std::fs::read_dir(shared.join("conformance/derender")).expect("the data");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| {
        let name = path.file_stem()?.to_str()?.to_owned();
        let [tool, reasoning, _] = name.split("__").collect::<Vec<_>>()[..] else { return None };
        if tool == "wire" || (tool == "none" && reasoning == "none") {
            return None;
        }
        let mut flags = Vec::new();
        if tool != "none" {
            flags.extend(["--tool-call-parser", tool, "--enable-auto-tool-choice"]);
        }
        if reasoning != "none" {
            flags.extend(["--reasoning-parser", reasoning]);
        }
        let flags = flags.into_iter().map(str::to_owned).collect();
        Some(ParserFile { cases: cases(&path), name, flags })
    })
}

/// The cases of `bugs2.jsonl`, by the pair of parsers that each was made for.
pub fn bug_files(shared: &Path) -> Vec<ParserFile> {
    let mut files: Vec<ParserFile> = Vec::new();
    for case in cases(&shared.join("conformance/derender/bugs2.jsonl")) {
        let name = case["name"].as_str().and_then(|name| name.rsplit_once('/')).map_or("", |(file, _)| file);
        let flags: Vec<String> = case["flags"].as_array().into_iter().flatten().map(text).collect();
        match files.iter_mut().find(|file| file.name == name && file.flags == flags) {
            Some(file) => file.cases.push(case),
            None => files.push(ParserFile { name: name.to_owned(), cases: vec![case], flags }),
        }
    }
    files
}

/// Whether a case is among those that `DRAGOMAN_CASES` names by parts of names between commas, or that names none.
pub fn is_wanted(name: &str) -> bool {
    let filter = std::env::var("DRAGOMAN_CASES").unwrap_or_default();
    filter.split(',').any(|part| name.contains(part))
}

/// The directory of a model of the shared data; derived ones are written with its own script.
pub fn model_directory(shared: &Path, model: &str) -> Option<PathBuf> {
    let name = if model == "smollm2-135m-instruct" { "smollm2" } else { model };
    let base = shared.join("models").join(name);
    if base.join("tokenizer.json").is_file() {
        return Some(base);
    }
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("models");
    let derived = out.join(name);
    // The script writes the tokenizer first and its other files after it.
    if !derived.join("config.json").is_file() {
        let script = shared.join("models/derive.py");
        let run = std::process::Command::new("python3").arg(script).arg(&out).arg(name).status();
        if !run.is_ok_and(|status| status.success()) {
            eprintln!("no python3 to derive {name} with: skipped");
            return None;
        }
    }
    derived.join("tokenizer.json").is_file().then_some(derived)
}

fn read_json(path: &Path) -> Value {
    std::fs::read_to_string(path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or(Value::Null)
}

/// The ids that stop a generation, by the model's files.
fn eos_token_ids(directory: &Path, tokenizer: &Tokenizer) -> Vec<u32> {
    let mut ids = Vec::new();
    for file in ["generation_config.json", "config.json"] {
        match &read_json(&directory.join(file))["eos_token_id"] {
            Value::Array(several) => ids.extend(several.iter().filter_map(Value::as_u64)),
            one => ids.extend(one.as_u64()),
        }
    }
    let token = &read_json(&directory.join("tokenizer_config.json"))["eos_token"];
    let token = token.as_str().or_else(|| token["content"].as_str());
    ids.extend(token.and_then(|token| tokenizer.id(token)).map(u64::from));
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| u32::try_from(id).expect("an id")).collect()
}

/// Tokenizers by directory and derenderers by what they were made of, each made once.
#[derive(Default)]
pub struct Models {
    tokenizers: BTreeMap<PathBuf, Arc<Tokenizer>>,
    served: BTreeMap<String, Rc<Served>>,
}

/// A derenderer, with what a test needs to know of it.
pub struct Served {
    pub derenderer: Derenderer,
    pub eos: Vec<u32>,
    pub tokenizer: Arc<Tokenizer>,
}

impl Models {
    /// A derenderer as the reference was started with these flags. None: a parser is not registered, or the model
    /// is not there.
    pub fn serve(
        &mut self,
        shared: &Path,
        model: &str,
        flags: &[String],
        bounds: &Value,
    ) -> Option<Rc<Served>> {
        let key = format!("{model} {flags:?} {bounds}");
        if let Some(served) = self.served.get(&key) {
            return Some(Rc::clone(served));
        }
        let directory = model_directory(shared, model)?;
        let tokenizer = self.tokenizers.entry(directory.clone()).or_insert_with(|| {
            Arc::new(Tokenizer::from_file(&directory.join("tokenizer.json")).expect("a tokenizer"))
        });
        let tokenizer = Arc::clone(tokenizer);
        let flag = |name: &str| {
            let place = flags.iter().position(|flag| flag == name)?;
            flags.get(place + 1).cloned()
        };
        let known = |kind: &str, names: &[&str]| flag(kind).is_none_or(|name| names.contains(&name.as_str()));
        if !known("--tool-call-parser", dragoman_derender::tool::NAMES)
            || !known("--reasoning-parser", dragoman_derender::reasoning::NAMES)
        {
            return None;
        }
        let config = read_json(&directory.join("config.json"));
        let vocab_size =
            config["vocab_size"].as_u64().or_else(|| config["text_config"]["vocab_size"].as_u64());
        let number = |name: &str| flag(name).and_then(|value| value.parse::<i64>().ok());
        let eos = eos_token_ids(&directory, &tokenizer);
        let settings = json!({
            "served_model_names": ["m"],
            "max_model_len": number("--max-model-len").unwrap_or(32768),
            "vocab_size": vocab_size.unwrap_or_default().max(tokenizer.vocab_size() as u64),
            "max_logprobs": number("--max-logprobs").unwrap_or(20),
            "default_sampling": {},
            "eos_token_ids": eos,
            "chat_template_content_format": "auto",
            "default_chat_template_kwargs": {},
            "trust_request_chat_template": false,
            "tool_call_parser": flag("--tool-call-parser"),
            "reasoning_parser": flag("--reasoning-parser"),
            "enable_auto_tool_choice": flags.iter().any(|flag| flag == "--enable-auto-tool-choice"),
            "tokens_only": false, "stream_state_key": vec![7u8; 16],
            "bounds": bounds,
        });
        let config = ServingConfig::from_json(settings.to_string().as_bytes()).expect("settings");
        let derenderer = Derenderer::new(Arc::clone(&tokenizer), Arc::new(config)).expect("a derenderer");
        let served = Rc::new(Served { derenderer, eos, tokenizer });
        self.served.insert(key, Rc::clone(&served));
        Some(served)
    }
}

/// A message as all ways to derender must agree on it: text and calls, nulls as empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message {
    pub content: String,
    pub reasoning: String,
    /// Id, name and arguments, word for word.
    pub calls: Vec<(String, String, String)>,
    pub finish_reason: Value,
    pub stop_reason: Value,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Message {
    /// Reads the choice of a whole answer.
    pub fn of_answer(choice: &Value) -> Self {
        let message = &choice["message"];
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        Self {
            content: text(&message["content"]),
            reasoning: text(&message["reasoning"]),
            calls: calls
                .iter()
                .map(|call| {
                    (text(&call["id"]), text(&call["function"]["name"]), text(&call["function"]["arguments"]))
                })
                .collect(),
            finish_reason: choice["finish_reason"].clone(),
            stop_reason: choice["stop_reason"].clone(),
        }
    }

    /// Takes a stream's choice in.
    pub fn add(&mut self, choice: &Value) -> Result<(), String> {
        let delta = &choice["delta"];
        self.content += &text(&delta["content"]);
        self.reasoning += &text(&delta["reasoning"]);
        for call in delta["tool_calls"].as_array().cloned().unwrap_or_default() {
            let index =
                usize::try_from(call["index"].as_u64().ok_or("a call without index")?).expect("an index");
            if index == self.calls.len() {
                self.calls.push((text(&call["id"]), text(&call["function"]["name"]), String::new()));
            } else if index + 1 != self.calls.len() || call.get("id").is_some() {
                return Err(format!("call {index} out of order"));
            }
            self.calls[index].2 += &text(&call["function"]["arguments"]);
        }
        if !choice["finish_reason"].is_null() {
            if !self.finish_reason.is_null() {
                return Err("a second finish reason".to_owned());
            }
            self.finish_reason = choice["finish_reason"].clone();
            self.stop_reason = choice["stop_reason"].clone();
        }
        Ok(())
    }

    /// The calls with their arguments as values, for comparisons of meaning.
    pub fn values(&self) -> Vec<(String, Value)> {
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!({"not JSON": text}));
        self.calls.iter().map(|(_, name, arguments)| (name.clone(), value(arguments))).collect()
    }
}

/// White space does not count where the data's author read the output.
pub fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One output to derender.
pub struct Output<'c> {
    pub ids: Vec<Value>,
    pub finish_reason: Value,
    pub stop_reason: Value,
    /// `chat_request`, `prompt_token_ids` and the like, where given.
    pub common: Map<String, Value>,
    pub served: &'c Served,
}

impl<'c> Output<'c> {
    /// The output of a parser case.
    pub fn of_case(case: &Value, served: &'c Served) -> Option<Self> {
        let mut common = Map::from_iter([("model".to_owned(), json!("m"))]);
        for key in ["chat_request", "prompt_token_ids"] {
            if let Some(value) = case.get(key).filter(|value| !value.is_null()) {
                common.insert(key.to_owned(), value.clone());
            }
        }
        Some(Self {
            ids: case.get("output_token_ids")?.as_array()?.clone(),
            finish_reason: case.get("finish_reason").cloned().unwrap_or(json!("stop")),
            stop_reason: case.get("stop_reason").cloned().unwrap_or(Value::Null),
            common,
            served,
        })
    }

    /// The one-shot answer's choice, or the message of the refusal.
    pub fn whole(&self) -> Result<Value, String> {
        let mut body = self.common.clone();
        body.insert(
            "generate_response".to_owned(),
            json!({"request_id": "r", "choices": [{"index": 0, "token_ids": self.ids,
                "finish_reason": self.finish_reason, "stop_reason": self.stop_reason}]}),
        );
        let answer = self.served.derenderer.chat(Value::Object(body).to_string().as_bytes());
        let answer = answer.map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_slice(&answer.body).expect("an answer");
        Ok(answer["choices"][0].clone())
    }

    /// The message of a stream in chunks of these sizes, and the bytes of its largest state; the last size repeats.
    pub fn streamed(&self, sizes: &[usize]) -> Result<(Message, usize), String> {
        let mut stream = Stream::default();
        let mut rest = self.ids.as_slice();
        let mut sizes = sizes.iter();
        let mut size = 1;
        loop {
            size = *sizes.next().unwrap_or(&size);
            let (now, later) = rest.split_at(size.min(rest.len()));
            rest = later;
            stream.push(self, now, rest.is_empty())?;
            if rest.is_empty() {
                return Ok((stream.message, stream.largest));
            }
        }
    }

    /// The messages of all outputs that this one begins with, in chunks of one size, the shortest of one id first.
    ///
    /// Streams that begin with the same chunks share them: each chunk is derendered once, and once more as the last.
    pub fn streamed_prefixes(&self, size: usize) -> Result<Vec<Message>, String> {
        let mut begun = Stream::default();
        let mut messages = Vec::with_capacity(self.ids.len());
        for chunk in self.ids.chunks(size) {
            for length in 1..=chunk.len() {
                let mut stream = begun.clone();
                stream.push(self, &chunk[..length], true)?;
                messages.push(stream.message);
            }
            begun.push(self, chunk, false)?;
        }
        Ok(messages)
    }
}

/// A stream under way, as its client has it.
#[derive(Debug, Clone, Default)]
struct Stream {
    message: Message,
    state: Value,
    largest: usize,
}

impl Stream {
    /// Derenders the next chunk, `last` with the output's finish reason.
    fn push(&mut self, output: &Output<'_>, ids: &[Value], last: bool) -> Result<(), String> {
        let mut chunk = json!({"index": 0, "token_ids": ids, "finish_reason": null});
        if last {
            chunk["finish_reason"] = output.finish_reason.clone();
            chunk["stop_reason"] = output.stop_reason.clone();
        }
        let mut body = output.common.clone();
        body.insert("stream".to_owned(), json!(true));
        body.insert("generate_chunk".to_owned(), json!({"request_id": "r", "choices": [chunk]}));
        body.insert("stream_state".to_owned(), self.state.take());
        let answer = output.served.derenderer.chat(Value::Object(body).to_string().as_bytes());
        let answer = answer.map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_slice(&answer.body).expect("an answer");
        self.message.add(&answer["chunk"]["choices"][0])?;
        self.state = answer["stream_state"].clone();
        self.largest = self.largest.max(self.state.to_string().len());
        Ok(())
    }
}
