//! Whole bodies: the shapes, counts, log-probabilities and refusals of
//! `../shared/conformance/derender/wire__*.jsonl`, and the public bugs of `bugs.jsonl`.

mod support;

use serde_json::{Value, json};
use support::differences::Differences;
use support::{Message, Models, Output, Served, cases, shared, squeezed};

/// What derendering a body gave: the answer, or the refused parameter and the message.
fn derender(served: &Served, endpoint: &str, body: &[u8]) -> Result<Value, String> {
    let derenderer = &served.derenderer;
    let answer = if endpoint.contains("chat") { derenderer.chat(body) } else { derenderer.completions(body) };
    let answer = answer.map_err(|error| format!("{}: {error}", error.kind()))?;
    serde_json::from_slice(&answer.body).map_err(|error| error.to_string())
}

/// Members of `wanted` that `got` has otherwise. Members that are null and members that are absent are the same;
/// what changes with time or by chance is left out.
fn differs(got: &Value, wanted: &Value, path: &str) -> Option<String> {
    match (got, wanted) {
        (_, Value::String(text)) if text.starts_with('<') && text.ends_with('>') && !text.contains(' ') => {
            None
        }
        (Value::Object(got), Value::Object(wanted)) => {
            let keys = got.keys().chain(wanted.keys());
            keys.filter(|key| *key != "created" && *key != "stream_state").find_map(|key| {
                let (got, wanted) =
                    (got.get(key).unwrap_or(&Value::Null), wanted.get(key).unwrap_or(&Value::Null));
                differs(got, wanted, &format!("{path}.{key}"))
            })
        }
        (Value::Array(got), Value::Array(wanted)) if got.len() == wanted.len() => {
            let pairs = got.iter().zip(wanted).enumerate();
            pairs
                .map(|(index, (got, wanted))| differs(got, wanted, &format!("{path}.{index}")))
                .find_map(|found| found)
        }
        (got, wanted) if got == wanted => None,
        (got, wanted) if got.is_number() && got.as_f64() == wanted.as_f64() => None,
        (got, wanted) => Some(format!("{path}: {got}, expected {wanted}")),
    }
}

/// The bodies of a case in turn, each with the state of the answer before it.
fn answers(case: &Value, served: &Served) -> Vec<Result<Value, String>> {
    let endpoint = case["endpoint"].as_str().unwrap_or_default();
    if let Some(raw) = case["raw_body"].as_str() {
        let latin1 = case["name"].as_str().is_some_and(|name| name.ends_with("raw_latin1"));
        let bytes = if latin1 { raw.chars().map(|c| c as u8).collect() } else { raw.as_bytes().to_vec() };
        return vec![derender(served, endpoint, &bytes)];
    }
    let Some(chunks) = case["chunks"].as_array() else {
        return vec![derender(served, endpoint, case["body"].to_string().as_bytes())];
    };
    let mut state = Value::Null;
    let mut all = Vec::new();
    for chunk in chunks {
        let mut chunk = chunk.clone();
        if chunk.get("request_id").is_none() {
            chunk["request_id"] = json!("r1");
        }
        let mut body = case["common"].clone();
        body["model"] = json!("m");
        body["stream"] = json!(true);
        body["generate_chunk"] = chunk;
        body["stream_state"] = state.clone();
        let answer = derender(served, endpoint, body.to_string().as_bytes());
        if let Ok(answer) = &answer {
            state = answer["stream_state"].clone();
        }
        all.push(answer.map(|answer| answer["chunk"].clone()));
    }
    all
}

/// How the reference was started for a case.
fn flags(case: &Value) -> Vec<String> {
    case["flags"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn check_wire(case: &Value, served: &Served) -> Result<(), String> {
    let all = answers(case, served);
    let wanted: Vec<Value> = match case["responses"].as_array() {
        Some(responses) => responses.clone(),
        None => vec![case["response"].clone()],
    };
    for (number, (got, wanted)) in all.iter().zip(&wanted).enumerate() {
        let status = wanted["status"].as_u64().unwrap_or(200);
        let wants_refusal = status >= 400 || case["expected"] == "400";
        match got {
            Err(error) if wants_refusal => {
                let kind = if status == 404 { "not_found" } else { "" };
                if !error.starts_with(kind) || error.contains("internal") {
                    return Err(format!("refused as {error}"));
                }
                return Ok(());
            }
            // What the reference should have done instead is for a reader; here only the answers without fault count.
            _ if !case["suspect"].is_null() && case["expected"] != "400" => {}
            Err(error) => return Err(format!("answer {number} refused: {error}")),
            Ok(answer) if wants_refusal => return Err(format!("answer {number} not refused: {answer}")),
            Ok(answer) => {
                let body = if wanted["body"].is_object() { &wanted["body"] } else { wanted };
                let (answer, body) = match body.get("chunk") {
                    Some(chunk) => (&answer["chunk"], chunk),
                    None => (answer, body),
                };
                if let Some(found) = differs(answer, body, &format!("answer {number}")) {
                    return Err(found);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn wire_cases_hold() {
    let Some(shared) = shared() else { return };
    let differences = Differences::read();
    let filter = std::env::var("DRAGOMAN_CASES").unwrap_or_default();
    let mut models = Models::default();
    let mut failures = Vec::new();
    let files = [
        ("wire__plain__qwen3", json!({})),
        ("wire__bounds__qwen3", json!({"choices": 3, "prompts": 3})),
        ("wire__hermes_qwen3__qwen3", json!({})),
    ];
    for (file, bounds) in files {
        let (mut pass, mut differ) = (0, 0);
        for case in cases(&shared.join(format!("conformance/derender/{file}.jsonl"))) {
            let name = case["name"].as_str().unwrap_or_default();
            // The content type of a request is the server's affair.
            if !name.contains(&filter) || case.get("headers").is_some() {
                continue;
            }
            let flags = flags(&case);
            let served = models.serve(&shared, "qwen3", &flags, &bounds).expect("qwen3 with hermes");
            match check_wire(&case, &served) {
                Ok(()) => pass += 1,
                Err(_) if differences.lists(name) => differ += 1,
                Err(why) => failures.push(format!("{name} ({}): {why}", case["about"])),
            }
        }
        println!("{file:35} {pass} pass, {differ} differ");
    }
    failures.iter().take(80).for_each(|failure| println!("{failure}"));
    assert!(failures.is_empty(), "{} cases differ from the data", failures.len());
    let unused = differences.unused(|name| name.starts_with("wire__"));
    assert!(unused.is_empty(), "listed as different, and not: {unused:?}");
}

fn check_bug(case: &Value, served: &Served) -> Result<(), String> {
    let expect = &case["expect"];
    let Some(output) = Output::of_case(case, served).filter(|_| case["output_token_ids"].is_array()) else {
        // Some bodies are only described.
        if !case["body"].is_object() && !case["chunks"].is_array() && !case["raw_body"].is_string() {
            return Ok(());
        }
        let all = answers(case, served);
        let wants_refusal = expect["status"] == 400;
        let refused = all.iter().any(Result::is_err);
        if expect["status"].is_u64() && wants_refusal != refused {
            return Err(format!("status: {:?}", all.last()));
        }
        if let Some(wanted) = expect.get("cached_tokens") {
            let answer = all[0].as_ref().map_err(Clone::clone)?;
            let got = &answer["usage"]["prompt_tokens_details"]["cached_tokens"];
            if got != wanted {
                return Err(format!("cached_tokens {got}"));
            }
        }
        if let Some(wanted) = expect.get("content_exact") {
            let answer = all[0].as_ref().map_err(Clone::clone)?;
            let choice = &answer["choices"][0];
            let got = choice["message"].get("content").unwrap_or(&choice["text"]);
            if got != wanted {
                return Err(format!("content {got}"));
            }
        }
        return Ok(());
    };
    let message = match output.whole() {
        Err(_) if expect["status"] == 400 => return Ok(()),
        Err(error) => return Err(format!("refused: {error}")),
        Ok(_) if expect["status"] == 400 => return Err("not refused".to_owned()),
        Ok(choice) => Message::of_answer(&choice),
    };
    for sizes in [&[1][..], &[2], &[3], &[usize::MAX]] {
        let (streamed, _) = output.streamed(sizes)?;
        if streamed != message {
            return Err(format!("in chunks of {sizes:?}: {streamed:?}, one-shot {message:?}"));
        }
    }
    let calls: Vec<Value> = message
        .values()
        .into_iter()
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments}))
        .collect();
    let checks = [
        ("content_exact", json!(message.content)),
        ("finish_reason", message.finish_reason.clone()),
        ("tool_calls", json!(calls)),
    ];
    for (key, got) in checks {
        if expect.get(key).is_some_and(|wanted| differs(&got, wanted, "").is_some()) {
            return Err(format!("{key} {got}, expected {}", expect[key]));
        }
    }
    for (key, got) in [("content", &message.content), ("reasoning", &message.reasoning)] {
        if expect.get(key).and_then(Value::as_str).is_some_and(|wanted| squeezed(got) != squeezed(wanted)) {
            return Err(format!("{key} {got:?}, expected {}", expect[key]));
        }
    }
    if expect["content_not_containing"].as_str().is_some_and(|text| message.content.contains(text)) {
        return Err(format!("content {:?}", message.content));
    }
    if expect["content_len_min"].is_u64() && message.content.is_empty() {
        return Err("no content".to_owned());
    }
    Ok(())
}

#[test]
fn public_bugs_do_not_occur() {
    let Some(shared) = shared() else { return };
    let differences = Differences::read();
    let filter = std::env::var("DRAGOMAN_CASES").unwrap_or_default();
    let mut models = Models::default();
    let (mut failures, mut pass) = (Vec::new(), 0);
    for case in cases(&shared.join("conformance/derender/bugs.jsonl")) {
        let name = case["name"].as_str().unwrap_or_default();
        if !name.contains(&filter) {
            continue;
        }
        let flags = flags(&case);
        let model = case["model"].as_str().unwrap_or_default();
        let Some(served) = models.serve(&shared, model, &flags, &json!({})) else { continue };
        match check_bug(&case, &served) {
            Ok(()) => pass += 1,
            Err(_) if differences.lists(name) => {}
            Err(why) => failures.push(format!("{name}: {why}\n    wanted: {}", case["expected"])),
        }
    }
    println!("{pass} pass");
    failures.iter().take(60).for_each(|failure| println!("{failure}"));
    assert!(failures.is_empty(), "{} bugs occur", failures.len());
}
