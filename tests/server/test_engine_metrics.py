"""The engine's counters on the metrics page, as a Prometheus client reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dragoman.engine import QueueFullError
from dragoman.server.engine_metrics import EngineCollector
from tests.engine.collect import run
from tests.engine.conftest import tiny_llama  # noqa: F401
from tests.engine.engines import PROMPT, build


def test_what_the_engine_counts(tiny_llama: Path) -> None:  # noqa: F811
    engine = build(tiny_llama, max_num_queued_reqs=2)
    registry = CollectorRegistry()
    registry.register(EngineCollector(lambda: engine.stats))
    engine.start()
    try:
        run(engine, PROMPT, max_tokens=9, ignore_eos=True)
        with pytest.raises(QueueFullError):
            run(engine, PROMPT, max_tokens=1, n=3)
        engine.call(lambda: None).result()
    finally:
        engine.shutdown()
    page = generate_latest(registry).decode()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert families["vllm:kv_cache_usage_perc"].samples[0].value == 0.0
    (rejected,) = families["vllm:admission_rejections"].samples
    assert (rejected.labels, rejected.value) == ({"reason": "max_num_queued_reqs"}, 1.0)
    steps = families["dragoman:engine_step_seconds"]
    assert steps.type == "histogram"
    buckets = [sample.value for sample in steps.samples if sample.name.endswith("_bucket")]
    values = {sample.name: sample.value for sample in steps.samples if not sample.labels}
    # The prompt gives the first token, eight decodes the others.
    assert values["dragoman:engine_step_seconds_count"] == buckets[-1] == 9.0
    assert buckets == sorted(buckets)
    assert 0.0 < values["dragoman:engine_step_seconds_sum"] < 60.0
