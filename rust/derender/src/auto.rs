//! The parser name `auto`: which parsers fit a model, from its `model_type` and the text of its chat template.
//!
//! A template shows the form in which the model was taught to answer, so its markers come first; the type decides where
//! several models share a form, and where a template leaves its calls to the client.

/// One way to recognise a parser: any of the types (none: every type) and all of the marks.
struct Rule {
    types: &'static [&'static str],
    marks: &'static [&'static str],
    parser: &'static str,
}

const fn rule(types: &'static [&'static str], marks: &'static [&'static str], parser: &'static str) -> Rule {
    Rule { types, marks, parser }
}

/// The first rule that holds names the tool parser.
const TOOL: &[Rule] = &[
    rule(&["gpt_oss"], &[], "openai"),
    rule(&[], &["<|channel|>", "<|message|>"], "openai"),
    rule(&[], &["DSML", "function_calls>"], "deepseek_v32"),
    rule(&[], &["DSML", "tool_calls>"], "deepseek_v4"),
    rule(&[], &["<｜tool▁calls▁begin｜>", "```json"], "deepseek_v3"),
    rule(&[], &["<｜tool▁calls▁begin｜>"], "deepseek_v31"),
    rule(&[], &["<|tool_calls_section_begin|>"], "kimi_k2"),
    rule(&[], &["<minimax:tool_call>"], "minimax_m2"),
    rule(&[], &["<seed:tool_call>"], "seed_oss"),
    // From GLM 4.7 on, a request may drop the thinking of earlier turns.
    rule(&[], &["<arg_key>", "clear_thinking"], "glm47"),
    rule(&["glm4_moe_lite"], &["<arg_key>"], "glm47"),
    rule(&[], &["<arg_key>"], "glm45"),
    rule(&["step3p5"], &["<function="], "step3p5"),
    rule(&["mimo", "mimo_v2", "mimo_v2_flash"], &["<function="], "mimo"),
    rule(&[], &["<tool_call>", "<function="], "qwen3_coder"),
    rule(&[], &["<steptml:"], "step3"),
    rule(&[], &["<start_function_call>"], "functiongemma"),
    rule(&[], &["<|tool_call>", "<tool_call|>"], "gemma4"),
    rule(&[], &["<|tools_prefix|>"], "apertus"),
    rule(&["cohere2_moe"], &["<|START_ACTION|>"], "cohere_command4"),
    rule(&[], &["<|START_ACTION|>", "<|START_TEXT|>"], "cohere_command4"),
    rule(&[], &["<|START_ACTION|>"], "cohere_command3"),
    rule(&[], &["[TOOL_CALLS]"], "mistral"),
    rule(&[], &["<|action_start|>"], "internlm"),
    rule(&[], &["functools"], "phi4_mini_json"),
    rule(&[], &["<|tool_call|>"], "granite"),
    rule(&["granitemoehybrid"], &["<tool_call>"], "granite4"),
    rule(&["ernie4_5", "ernie4_5_moe"], &["<tool_call>"], "ernie45"),
    rule(&[], &["<tool_call>", "\"name\""], "hermes"),
    rule(&["jamba"], &["<tool_calls>"], "jamba"),
    rule(&["hunyuan_v1_moe", "hunyuan_v1_dense", "hunyuan"], &["<tool_calls>"], "hunyuan_a13b"),
    rule(&[], &["<tool_calls>", "<|extra_0|>"], "hunyuan_a13b"),
    rule(&[], &["<tool_calls>"], "jamba"),
    rule(&[], &["<|tool_list_start|>"], "lfm2"),
    rule(&[], &["<|tool_call_start|>"], "lfm2"),
    rule(&[], &["<function_calls>"], "olmo3"),
    rule(&["llama4"], &["[func_name1("], "llama4_pythonic"),
    rule(&[], &["[func_name1("], "pythonic"),
    rule(&["llama4"], &["\"parameters\""], "llama4_json"),
    rule(&[], &["<|python_tag|>"], "llama3_json"),
    rule(&[], &["xLAM"], "xlam"),
    rule(&["mllama", "llama"], &["<|start_header_id|>", "\"parameters\""], "llama3_json"),
];

/// The first rule that holds names the reasoning parser.
const REASONING: &[Rule] = &[
    rule(&["gpt_oss"], &[], "openai_gptoss"),
    rule(&[], &["<|channel|>", "<|message|>"], "openai_gptoss"),
    rule(&[], &["DSML", "function_calls>", "<think>"], "deepseek_v3"),
    rule(&[], &["DSML", "tool_calls>", "<think>"], "deepseek_v4"),
    // From 3.1 on the request switches the thinking.
    rule(&[], &["<｜tool▁calls▁begin｜>", "thinking is defined"], "deepseek_v3"),
    rule(&[], &["<｜tool▁calls▁begin｜>", "</think>"], "deepseek_r1"),
    rule(&[], &["<|tool_calls_section_begin|>", "</think>"], "kimi_k2"),
    rule(&[], &["<minimax:tool_call>", "</think>"], "minimax_m2"),
    rule(&[], &["<seed:think>"], "seed_oss"),
    rule(&[], &["<arg_key>", "clear_thinking", "</think>"], "glm47"),
    rule(&["glm4_moe_lite"], &["<arg_key>", "</think>"], "glm47"),
    rule(&[], &["<arg_key>", "</think>"], "glm45"),
    rule(&["step3p5"], &["<think>"], "step3p5"),
    rule(&[], &["<steptml:", "<think>"], "step3"),
    rule(&["mimo", "mimo_v2", "mimo_v2_flash"], &["</think>"], "mimo"),
    rule(&["nemotron_h", "nemotron_h_moe"], &["</think>"], "nemotron_v3"),
    rule(&[], &["<|channel>", "<channel|>"], "gemma4"),
    rule(&["cohere2_moe"], &["<|START_THINKING|>"], "cohere_command4"),
    rule(&[], &["<|START_THINKING|>", "<|START_TEXT|>"], "cohere_command4"),
    rule(&[], &["<|START_THINKING|>"], "cohere_command3"),
    rule(&[], &["[THINK]"], "mistral"),
    rule(&[], &["<think>", "<response>", "<|tool_call|>"], "granite"),
    rule(&["hunyuan_v1_moe", "hunyuan_v1_dense", "hunyuan"], &["</think>"], "hunyuan_a13b"),
    rule(&[], &["</think>", "<|extra_0|>"], "hunyuan_a13b"),
    rule(&[], &["<function_calls>", "<think>"], "olmo3"),
    rule(&["ernie4_5", "ernie4_5_moe"], &["<think>"], "ernie45"),
    rule(&[], &["deepseek", "</think>"], "deepseek_r1"),
    // Not before the calls of a model: others think in these tags too.
    rule(&[], &["<|im_start|>", "</think>"], "qwen3"),
    rule(&[], &["</think>"], "deepseek_r1"),
];

/// The tool parser and the reasoning parser for a model; none where nothing tells one.
///
/// `model_type` is that of `config.json`, `template` the source of the chat template.
#[must_use]
pub fn choose(
    model_type: Option<&str>,
    template: Option<&str>,
) -> (Option<&'static str>, Option<&'static str>) {
    let template = template.unwrap_or_default();
    let holds = |rule: &&Rule| {
        (rule.types.is_empty() || model_type.is_some_and(|name| rule.types.contains(&name)))
            && rule.marks.iter().all(|mark| template.contains(mark))
    };
    let first = |rules: &'static [Rule]| rules.iter().find(holds).map(|rule| rule.parser);
    (first(TOOL), first(REASONING))
}

#[cfg(test)]
mod tests {
    use super::{REASONING, TOOL, choose};
    use crate::{reasoning, tool};

    #[test]
    fn every_rule_names_a_parser() {
        assert!(TOOL.iter().all(|rule| tool::NAMES.contains(&rule.parser)));
        assert!(REASONING.iter().all(|rule| reasoning::NAMES.contains(&rule.parser)));
    }

    #[test]
    fn a_rule_without_conditions_would_always_hold() {
        assert!(TOOL.iter().chain(REASONING).all(|rule| !rule.types.is_empty() || !rule.marks.is_empty()));
        assert_eq!(choose(None, None), (None, None));
    }
}
