//! One file for each output format, all named as vLLM names its parser.

pub(super) mod cohere_command3;
pub(super) mod cohere_command4;
pub(super) mod deepseek_r1;
pub(super) mod deepseek_v3;
pub(super) mod deepseek_v4;
pub(super) mod ernie45;
pub(super) mod glm45;
pub(super) mod glm47;
pub(super) mod granite;
pub(super) mod hunyuan_a13b;
pub(super) mod kimi_k2;
pub(super) mod mimo;
pub(super) mod minimax_m2;
pub(super) mod minimax_m2_append_think;
pub(super) mod mistral;
pub(super) mod nemotron_v3;
pub(super) mod olmo3;
pub(super) mod qwen3;
pub(super) mod seed_oss;
pub(super) mod step3;
pub(super) mod step3p5;
