//! Chat requests to generate requests.

use dragoman_protocol::generate::output_mode;
use dragoman_protocol::sampling::to_raw;
use dragoman_protocol::{
    ChatRequest, Error, Fields, GenerateRequest, Json, OutputMode, Result, ToolChoice, bounds, json,
};
use dragoman_template::{Rendered, TemplateInput};

use crate::convert::named_choice;
use crate::mask::assistant_mask;
use crate::messages::{Form, conversation};
use crate::prompt::Prompt;
use crate::tool_grammar::tool_grammar;
use crate::variables::{Asked, Variables, variables};
use crate::{Renderer, error};

/// What an API that is converted to a chat request changes in the answer.
#[expect(clippy::struct_excessive_bools, reason = "each API is a constant of these switches")]
pub struct Style {
    pub id_prefix: &'static str,
    /// Whether `max_tokens` is kept within what the context leaves. The Messages API always says it, and it
    /// is taken as it stands.
    pub limit_max_tokens: bool,
    /// Whether tools need a tool-call parser on the server.
    pub tools_need_parser: bool,
    /// Whether the answer says if the prompt ends the reasoning.
    pub tells_reasoning: bool,
    /// Whether extra_args are there although empty.
    pub always_extra_args: bool,
}

/// The chat completions API itself.
pub const CHAT: Style = Style {
    id_prefix: "chatcmpl-",
    limit_max_tokens: true,
    tools_need_parser: true,
    tells_reasoning: true,
    always_extra_args: false,
};

impl Renderer {
    /// Renders the body of `/v1/chat/completions/render`; `request_id` is the header's.
    ///
    /// # Errors
    /// Everything that a client can do wrong.
    pub fn chat(&self, body: &[u8], request_id: Option<&str>) -> Result<Vec<u8>> {
        let value = json::parse(body, &self.config.bounds)?;
        let request = self.chat_value(&Fields::of_body(&value)?, request_id, &CHAT)?;
        json::to_bytes(&request)
    }

    /// Renders a chat request that is JSON already.
    ///
    /// # Errors
    /// As [`Self::chat`].
    pub(crate) fn chat_value(
        &self,
        fields: &Fields<'_, '_>,
        request_id: Option<&str>,
        style: &Style,
    ) -> Result<GenerateRequest> {
        let request = ChatRequest::parse(fields, &self.config)?;
        let generation = &request.generation;
        bounds::model(generation.model.as_deref(), &self.config.served_model_names)?;
        if generation.use_beam_search {
            return Err(Error::bad_request("Beam search is not supported by the render endpoint"));
        }
        if style.tools_need_parser {
            self.check_tool_choice(&request)?;
        }
        let masked = request.return_assistant_tokens_mask;
        let (rendered, variables, marks) = self.apply_template(&request)?;
        let place = generation.return_token_offsets || masked && marks;
        let prompt = self.encode(&rendered.text, generation, request.max_tokens(), place)?;
        let mask = (masked && marks).then(|| mask(&rendered, &prompt));
        let max_tokens = if style.limit_max_tokens {
            Some(self.output_tokens(prompt.ids.len(), request.max_tokens()))
        } else {
            request.max_tokens()
        };
        let mut sampling_params = generation.sampling(&self.config, max_tokens)?;
        if request.logprobs {
            sampling_params.logprobs = Some(request.top_logprobs.unwrap_or(0));
        }
        if request.echo && generation.prompt_logprobs.is_none() {
            sampling_params.prompt_logprobs = Some(request.top_logprobs.unwrap_or(0));
        }
        // A parser matches control tokens: an engine that writes text must not drop them.
        let parses_calls = self.config.tool_call_parser.is_some()
            && request.tools.is_some()
            && request.tool_choice != ToolChoice::None;
        if parses_calls || self.config.reasoning_parser.is_some() {
            sampling_params.skip_special_tokens = false;
        }
        if sampling_params.structured_outputs.is_none() {
            sampling_params.structured_outputs =
                tool_grammar(self.config.tool_call_parser.as_deref(), &request)?;
        }
        if style.always_extra_args && sampling_params.extra_args.is_none() {
            sampling_params.extra_args = Some(to_raw(&json::object(Vec::new()))?);
        }
        let output_mode = output_mode(fields)?;
        let parse_context = if output_mode == OutputMode::Derender {
            Some(to_raw(&parse_context(&request, &variables))?)
        } else {
            None
        };
        let (reasoning_ended, reasoning_parser_kwargs) = self.reasoning(&request, &prompt, &variables)?;
        let id = Self::request_id(style.id_prefix, request_id, generation.request_id.as_deref());
        Ok(GenerateRequest {
            token_offsets: prompt.offsets.filter(|_| generation.return_token_offsets),
            assistant_tokens_mask: masked.then_some(mask),
            reasoning_ended: reasoning_ended.filter(|_| style.tells_reasoning),
            reasoning_parser_kwargs,
            output_mode,
            parse_context,
            ..GenerateRequest::rendered(id, prompt.ids, sampling_params, generation)
        })
    }

    /// Renders the template; also gives the variables and whether the template marks assistant text.
    pub(crate) fn apply_template<'a>(
        &self,
        request: &ChatRequest<'_, 'a>,
    ) -> Result<(Rendered, Variables<'a>, bool)> {
        let smuggled =
            request.chat_template_kwargs.and_then(|kwargs| json::get_some(kwargs, "chat_template"));
        let brought = request.chat_template.or_else(|| smuggled.and_then(json::as_str));
        let template = self.template(brought)?;
        let variables = variables(
            &self.config.default_chat_template_kwargs,
            &Asked {
                kwargs: request.chat_template_kwargs,
                add_generation_prompt: request.add_generation_prompt,
                continue_final_message: request.continue_final_message,
                documents: request.documents,
                reasoning_effort: request.reasoning_effort.as_deref(),
                effort_map: &self.config.reasoning_effort_map,
            },
        )?;
        let form = Form {
            content: self.content_format(&template),
            developer: template.knows_developer(),
            model: self.config.model_name(),
        };
        let messages = conversation(request.messages, &form)?;
        let tools = request.tools.map(crate::tools::tools);
        let input = TemplateInput {
            messages: &messages,
            tools: tools.as_ref(),
            documents: variables.documents.as_ref(),
            add_generation_prompt: variables.add_generation_prompt,
            continue_final_message: variables.continue_final_message,
            kwargs: &variables.kwargs,
            now: None,
        };
        let rendered = template.render(&input, &self.budget).map_err(|fault| error::template(&fault))?;
        let marks = template.has_generation_blocks();
        Ok((rendered, variables, marks))
    }

    fn check_tool_choice(&self, request: &ChatRequest<'_, '_>) -> Result<()> {
        if request.tools.is_none() {
            return Ok(());
        }
        let parser = self.config.tool_call_parser.is_some();
        let refused = match &request.tool_choice {
            ToolChoice::None => None,
            ToolChoice::Auto if parser && self.config.enable_auto_tool_choice => None,
            ToolChoice::Auto => {
                Some("\"auto\" tool choice needs --enable-auto-tool-choice and --tool-call-parser".to_owned())
            }
            ToolChoice::Required | ToolChoice::Named(_) if parser => None,
            ToolChoice::Required => Some("tool_choice \"required\" needs --tool-call-parser".to_owned()),
            ToolChoice::Named(name) => Some(format!("tool_choice \"{name}\" needs --tool-call-parser")),
        };
        refused
            .map_or(Ok(()), |message| Err(Error::bad_request(format!("{message} to be set on the server"))))
    }

    fn reasoning(
        &self,
        request: &ChatRequest<'_, '_>,
        prompt: &Prompt,
        variables: &Variables<'_>,
    ) -> Result<(Option<bool>, Option<Box<serde_json::value::RawValue>>)> {
        let Some(parser) = &self.parts.reasoning else {
            return Ok(((!request.include_reasoning).then_some(true), None));
        };
        let ended = !request.include_reasoning || parser.ended(&prompt.ids);
        let kwargs = json::object(vec![("chat_template_kwargs".into(), variables.to_json())]);
        Ok((Some(ended), Some(to_raw(&kwargs)?)))
    }
}

/// What a derenderer behind the engine needs of the request.
fn parse_context<'v>(request: &'v ChatRequest<'_, '_>, variables: &'v Variables<'_>) -> Json<'v> {
    let choice = match &request.tool_choice {
        ToolChoice::None => Json::Str("none".into()),
        ToolChoice::Auto => Json::Str("auto".into()),
        ToolChoice::Required => Json::Str("required".into()),
        ToolChoice::Named(name) => named_choice(name.clone()),
    };
    let calls = |message: &Json<'_>| match json::get(message, "tool_calls") {
        Some(Json::Array(calls)) => calls.len(),
        _ => 0,
    };
    let history: usize = request.messages.iter().map(calls).sum();
    let mut members = vec![
        ("tools".into(), request.tools.map_or(Json::Null, |tools| json::array(tools.to_vec()))),
        ("tool_choice".into(), choice),
        ("parallel_tool_calls".into(), Json::Bool(request.parallel_tool_calls)),
        ("include_reasoning".into(), Json::Bool(request.include_reasoning)),
        ("chat_template_kwargs".into(), variables.to_json()),
        ("history_tool_call_cnt".into(), Json::Int(i64::try_from(history).unwrap_or(i64::MAX))),
    ];
    let as_ids = request.generation.return_tokens_as_token_ids;
    members.extend(as_ids.map(|flag| ("return_tokens_as_token_ids".into(), Json::Bool(flag))));
    json::object(members)
}

fn mask(rendered: &Rendered, prompt: &Prompt) -> Vec<u8> {
    let offsets = prompt.offsets.as_deref().unwrap_or_default();
    assistant_mask(&rendered.assistant_spans, offsets, prompt.ids.len())
}
