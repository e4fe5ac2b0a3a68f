"""Records the expected values in tests/fixtures/conformance from the reference implementations.

`python -m tests.conformance.record WHAT…`, where WHAT is one of

* `templates`: HF transformers renders the templates with every conversation;
* `tokenization`: HF transformers encodes and decodes texts with SmolLM2's tokenizer;
* `vllm`: vLLM's render server and its engine answer requests. `--vllm` names its command.

The files lie as those of the reference data that the tests also read where it stands beside the repository.
"""
