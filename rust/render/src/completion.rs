//! Completions requests to generate requests, one for each prompt.

use dragoman_protocol::completion::DEFAULT_MAX_TOKENS;
use dragoman_protocol::{
    CompletionRequest, Error, Fields, GenerateRequest, Prompt as Input, Result, bounds, json,
};

use crate::Renderer;
use crate::prompt::Prompt;

impl Renderer {
    /// Renders the body of `/v1/completions/render`; `request_id` is the header's.
    ///
    /// # Errors
    /// Everything that a client can do wrong.
    pub fn completions(&self, body: &[u8], request_id: Option<&str>) -> Result<Vec<u8>> {
        let value = json::parse(body, &self.config.bounds)?;
        let fields = Fields::of_body(&value)?;
        let mut request = CompletionRequest::parse(&fields, &self.config)?;
        bounds::model(request.generation.model.as_deref(), &self.config.served_model_names)?;
        if request.generation.use_beam_search {
            return Err(Error::bad_request("Beam search is not supported by the render endpoint"));
        }
        if request.echo && request.generation.max_tokens == Some(0) {
            // Asked for the prompt alone; an engine makes at least one token.
            request.generation.max_tokens = Some(1);
        }
        let base = Self::request_id("cmpl-", request_id, request.generation.request_id.as_deref());
        let inputs = std::mem::take(&mut request.prompts);
        let several = inputs.len() > 1;
        let rendered: Vec<GenerateRequest> = inputs
            .into_iter()
            .enumerate()
            .map(|(index, input)| {
                let id = if several { format!("{base}-{index}") } else { base.clone() };
                self.completion(&request, input, id)
            })
            .collect::<Result<_>>()?;
        json::to_bytes(&rendered)
    }

    fn completion(
        &self,
        request: &CompletionRequest<'_>,
        input: Input<'_>,
        id: String,
    ) -> Result<GenerateRequest> {
        let generation = &request.generation;
        let prompt = self.completion_prompt(request, input)?;
        let asked = Some(self.output_tokens(prompt.ids.len(), generation.max_tokens));
        let mut sampling_params = generation.sampling(&self.config, asked)?;
        sampling_params.logprobs = request.logprobs;
        if request.echo && generation.prompt_logprobs.is_none() {
            sampling_params.prompt_logprobs = request.logprobs;
        }
        Ok(GenerateRequest {
            token_offsets: prompt.offsets,
            ..GenerateRequest::rendered(id, prompt.ids, sampling_params, generation)
        })
    }

    fn completion_prompt(&self, request: &CompletionRequest<'_>, input: Input<'_>) -> Result<Prompt> {
        let generation = &request.generation;
        // The endpoint's own default is no wish of the client's: it gives way to a long prompt.
        let asked = generation.max_tokens.filter(|tokens| *tokens != DEFAULT_MAX_TOKENS);
        match input {
            Input::Text(text) => self.encode(text, generation, asked, generation.return_token_offsets),
            Input::Ids(ids) => self.take_ids(ids, generation, asked),
        }
    }
}
