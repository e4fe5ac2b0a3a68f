//! The parsers that `auto` chooses are those that the data was recorded with, for each model's template.

mod support;

use std::collections::BTreeSet;

use dragoman_derender::auto::choose;
use serde_json::Value;
use support::{cases, shared};

/// The `model_type` of the models behind a file's short names, as their config.json has it; a template alone does not
/// tell these from others.
const TYPES: &[(&str, &str)] = &[
    ("gptoss", "gpt_oss"),
    ("granite4", "granitemoehybrid"),
    ("llama4", "llama4"),
    ("jamba", "jamba"),
    ("llama3", "llama"),
    ("cohere_command4", "cohere2_moe"),
    ("nemotron_v3", "nemotron_h"),
    ("step3p5", "step3p5"),
];

/// Files whose pair is not that of the template they were recorded with: a parser that is another's alias or second
/// choice, a template of another model, or one that does not show the form of the answer.
const OTHER: &[&str] = &[
    "ernie45__ernie45__ernie",
    "hermes__deepseek_r1__qwen3",
    "hermes__none__smollm2-135m-instruct",
    "none__deepseek_r1__qwen3",
    "mimo__mimo__qwen3",
    "minimax_m2__minimax_m2_append_think__minimax",
    "qwen3_xml__qwen3__qwen3",
    "step3__step3__step3",
];

#[test]
fn auto_chooses_what_the_data_was_recorded_with() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("conformance/derender");
    let mut seen = 0;
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the data") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let parts: Vec<_> = name.split("__").collect();
        let [tool, reasoning, model] = parts[..] else { continue };
        if tool == "wire" || OTHER.contains(&name.as_str()) {
            continue;
        }
        let sources: BTreeSet<_> = cases(&path)
            .iter()
            .map(|case| match case["chat_template"].as_str() {
                Some(file) => folder.join("templates").join(file),
                None => shared
                    .join("models")
                    .join(case["model"].as_str().unwrap_or(model))
                    .join("chat_template.jinja"),
            })
            .collect();
        let known = TYPES.iter().find(|(part, _)| parts.contains(part)).map(|(_, of)| *of);
        for source in sources {
            let template = std::fs::read_to_string(&source).ok();
            if template.is_none() && known.is_none() {
                continue;
            }
            seen += 1;
            let (chosen_tool, chosen_reasoning) = choose(known, template.as_deref());
            // A file with one parser says nothing about the other.
            let fits = |expected: &str, chosen: Option<&str>| expected == "none" || chosen == Some(expected);
            if !fits(tool, chosen_tool) || !fits(reasoning, chosen_reasoning) {
                failures.push(format!("{name}: {chosen_tool:?} and {chosen_reasoning:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(seen >= 30, "only {seen} templates of the data were found");
}

/// Templates of `../shared/conformance/templates` with their pairs: vLLM names parsers after the models they are for, and
/// gives `hermes` for Qwen 2.5 and 3, and `deepseek_r1` for what was distilled from R1.
const FAMILIES: &[(&str, Option<&str>, Option<&str>)] = &[
    ("apertus__apertus-8b-instruct.llamacpp", Some("apertus"), None),
    ("chatml__chatml.vllm", None, None),
    (
        "deepseek-r1-distill__deepseek-ai-deepseek-r1-distill-qwen-32b.llamacpp",
        Some("deepseek_v3"),
        Some("deepseek_r1"),
    ),
    ("deepseek-r1__deepseekr1.vllm", Some("deepseek_v3"), Some("deepseek_r1")),
    ("glm4.7__glm-4.7-flash.llamacpp", Some("glm47"), Some("glm47")),
    ("gpt-oss__openai-gpt-oss-120b.llamacpp", Some("openai"), Some("openai_gptoss")),
    ("hermes__hermes.vllm", Some("hermes"), None),
    ("minimax__minimax-m2.llamacpp", Some("minimax_m2"), Some("minimax_m2")),
    ("mistral-nemo__mistralai-mistral-nemo-instruct-2407.llamacpp", Some("mistral"), None),
    ("qwen2.5__qwen-qwen2.5-7b-instruct.llamacpp", Some("hermes"), None),
    ("qwen3-coder__qwen3-coder.llamacpp", Some("qwen3_coder"), None),
    ("qwen3.5__qwen3.5-4b.llamacpp", Some("qwen3_coder"), Some("qwen3")),
    ("qwen3__qwen-qwen3-4b-instruct-2507.jinjacpp", Some("hermes"), None),
    ("seed-oss__bytedance-seed-oss.llamacpp", Some("seed_oss"), Some("seed_oss")),
];

#[test]
fn auto_chooses_by_the_models_family() {
    let Some(shared) = shared() else { return };
    for &(name, tool, reasoning) in FAMILIES {
        let path = shared.join(format!("conformance/templates/templates/{name}.jinja"));
        let template = std::fs::read_to_string(path).expect("a template");
        assert_eq!(choose(None, Some(&template)), (tool, reasoning), "{name}");
    }
}

#[test]
fn auto_chooses_nothing_without_a_sign() {
    let Some(shared) = shared() else { return };
    for (model, expected) in [("gemma3", (None, None)), ("smollm2", (None, None))] {
        let folder = shared.join("models").join(model);
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file of the model");
        let config: Value = serde_json::from_str(&read("config.json")).expect("JSON");
        let template = read("chat_template.jinja");
        assert_eq!(choose(config["model_type"].as_str(), Some(&template)), expected, "{model}");
    }
}
