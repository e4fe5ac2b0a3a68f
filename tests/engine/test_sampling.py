"""The sampler against plain formulas and, for the filters, against transformers' logits processors."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

from dragoman.engine.params import SamplingParams
from dragoman.engine.sampling.draw import FIRST_CANDIDATES, _top_p, _top_p_of_all, draw
from dragoman.engine.sampling.logprobs import ranked_logprobs
from dragoman.engine.sampling.sampler import sample
from dragoman.engine.sampling.uniform import uniform
from dragoman.engine.sequence import Request, Sequence

from .refusing import READS, Refusing

VOCABULARY = 50


def sequence(
    prompt: list[int] | None = None, output: tuple[int, ...] = (), seed: int = 0, **params: Any
) -> Sequence:
    request = Request(
        request_id="r",
        prompt_token_ids=prompt or [1, 2, 3],
        params=SamplingParams(**params),
        on_output=lambda _: None,
        max_tokens=1000,
        seed=seed,
        arrival=0,
    )
    made = request.make_sequences()[0]
    for token in output:
        made.append(token)
    return made


def random_logits(rows: int = 1, vocabulary: int = VOCABULARY, seed: int = 3) -> torch.Tensor:
    return torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed)) * 2


def frequencies(logits: torch.Tensor, draws: int, **params: Any) -> torch.Tensor:
    """Shares of the tokens in many draws from one row, each draw a sequence with a seed of its own."""
    counts: Counter[int] = Counter()
    for first in range(0, draws, 500):
        rows = [sequence(seed=first + number, **params) for number in range(500)]
        tokens, _ = sample(logits.expand(500, -1), rows)
        counts.update(tokens)
    return torch.tensor([counts[token] / draws for token in range(logits.shape[-1])])


def test_uniform_is_uniform_and_repeatable() -> None:
    numbers = [uniform(seed, position) for seed in range(100) for position in range(100)]
    assert all(0.0 <= number < 1.0 for number in numbers)
    assert uniform(5, 7) == uniform(5, 7)
    assert len(set(numbers)) == len(numbers)
    tenths = Counter(int(number * 10) for number in numbers)
    # 10,000 draws in ten bins: 1,000 each, standard deviation 30.
    assert all(abs(tenths[bin_] - 1000) < 150 for bin_ in range(10))
    assert uniform(-3, 1) == uniform(2**64 - 3, 1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_draws_follow_the_softmax(temperature: float) -> None:
    logits = random_logits()
    draws = 20_000
    shares = frequencies(logits, draws, temperature=temperature)
    expected = torch.softmax(logits[0] / temperature, -1)
    deviation = (expected * (1 - expected) / draws).sqrt()
    assert ((shares - expected).abs() <= 5 * deviation + 1e-4).all()


@pytest.mark.parametrize(
    ("params", "warper"),
    [
        ({"top_k": 7}, ("TopKLogitsWarper", {"top_k": 7})),
        ({"top_p": 0.6}, ("TopPLogitsWarper", {"top_p": 0.6})),
        ({"min_p": 0.2}, ("MinPLogitsWarper", {"min_p": 0.2})),
    ],
    ids=["top-k", "top-p", "min-p"],
)
def test_filters_keep_what_transformers_keeps(
    params: dict[str, Any], warper: tuple[str, dict[str, Any]]
) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    logits = random_logits(seed=8)
    warped = getattr(transformers, warper[0])(**warper[1])(
        torch.zeros(1, 1, dtype=torch.long), logits.clone()
    )
    expected = torch.softmax(warped[0], -1)
    draws = 10_000
    shares = frequencies(logits, draws, **params)
    assert (shares[expected == 0] == 0).all()
    deviation = (expected * (1 - expected) / draws).sqrt()
    assert ((shares - expected).abs() <= 5 * deviation + 1e-4).all()


def test_top_p_beyond_the_first_candidates() -> None:
    """A flat distribution: the kept set is larger than the shortcut looks at."""
    vocabulary = 4 * FIRST_CANDIDATES
    logits = torch.zeros(1, vocabulary)
    logits[0, :10] = -5.0
    rows = [sequence(seed=number, top_p=0.99) for number in range(400)]
    tokens = draw(logits.expand(400, -1).clone(), rows).tolist()
    assert not set(tokens) & set(range(10))
    assert len(set(tokens)) > 350


def test_top_p_of_all_rows_at_once_keeps_what_it_keeps_row_by_row() -> None:
    """A GPU filters all rows together, a CPU one by one."""
    torch.manual_seed(3)
    probabilities = torch.softmax(torch.randn(6, 3000) * 3, -1)
    shares = [0.9, 0.3, 1.0, 1e-9, 0.9999, 0.5]
    expected = probabilities.clone()
    for row, share in enumerate(shares):
        if share < 1.0:
            _top_p(expected[row], share)
    assert [int(row.count_nonzero()) for row in expected][2:4] == [3000, 1]
    _top_p_of_all(probabilities, torch.tensor(shares).unsqueeze(1))
    assert torch.equal(probabilities, expected)


def test_filters_never_leave_nothing() -> None:
    logits = random_logits()
    best = int(logits.argmax())
    for params in ({"top_p": 1e-9}, {"top_k": 1}, {"min_p": 1.0}, {"temperature": 1e-4}):
        tokens, _ = sample(logits.expand(50, -1), [sequence(seed=n, **params) for n in range(50)])
        assert set(tokens) == {best}


def test_a_row_of_one_finite_logit() -> None:
    logits = torch.full((1, VOCABULARY), float("-inf"))
    logits[0, VOCABULARY - 1] = 0.0
    tokens, _ = sample(logits.expand(200, -1), [sequence(seed=number) for number in range(200)])
    assert set(tokens) == {VOCABULARY - 1}


def test_mixed_batch_draws_as_alone() -> None:
    logits = random_logits(rows=6).bfloat16()
    rows = [
        sequence(temperature=0.0),
        sequence(seed=1),
        sequence(seed=2, top_k=5, top_p=0.8),
        sequence(temperature=0.0, logit_bias={4: 100.0}),
        sequence(seed=3, min_p=0.1, repetition_penalty=1.5),
        sequence(seed=4, temperature=0.3),
    ]
    together, _ = sample(logits, rows)
    alone = [sample(logits[row : row + 1], [rows[row]])[0][0] for row in range(6)]
    assert together == alone
    assert together[3] == 4


def test_penalties() -> None:
    """Repetition reads prompt and output; presence and frequency the output only."""
    logits = random_logits(seed=1)
    counts = {4: 2, 9: 1}
    row = sequence(
        prompt=[1, 2, 2, 4],
        output=(4, 9, 4),
        temperature=0.0,
        repetition_penalty=1.3,
        presence_penalty=0.7,
        frequency_penalty=-0.4,
    )
    expected = logits[0].clone()
    for token in (1, 2, 4, 9):
        expected[token] = expected[token] / 1.3 if expected[token] > 0 else expected[token] * 1.3
    for token, times in counts.items():
        expected[token] -= 0.7 - 0.4 * times
    from dragoman.engine.sampling.adjust import adjust

    got = logits.clone()
    adjust(got, [row])
    assert torch.allclose(got[0], expected, atol=1e-6)


def test_bias_allowed_bad_words_and_minimum() -> None:
    logits = random_logits(seed=2)
    order = logits[0].argsort(descending=True).tolist()
    best, second, third = order[:3]

    def pick(**options: Any) -> int:
        row = sequence(temperature=0.0, output=options.pop("output", ()), **options)
        row.stop_ids = frozenset({best})
        return sample(logits, [row])[0][0]

    assert pick() == best
    assert pick(min_tokens=1) == second
    assert pick(min_tokens=1, output=(7,)) == best
    assert pick(logit_bias={second: 50.0}) == second
    assert pick(allowed_token_ids=(third, order[9])) == third
    assert pick(bad_words_token_ids=((best,),)) == second
    assert pick(bad_words_token_ids=((6, 7, best),), output=(6, 7)) == second
    assert pick(bad_words_token_ids=((6, 7, best),), output=(7, 6)) == best


def test_logprobs_are_of_the_raw_logits_and_in_order() -> None:
    logits = random_logits(seed=4)
    reference = torch.log_softmax(logits[0], -1)
    order = reference.argsort(descending=True).tolist()
    row = sequence(temperature=0.0, logit_bias={order[5]: 100.0}, logprobs=3)
    tokens, entries = sample(logits, [row])
    entry = entries[0]
    assert tokens == [order[5]]
    assert entry is not None
    assert [other.token_id for other in entry.top] == [order[5], *order[:3]]
    assert [other.rank for other in entry.top] == [6, 1, 2, 3]
    assert [other.logprob for other in entry.top] == pytest.approx(
        [float(reference[token]) for token in (order[5], *order[:3])], abs=1e-5
    )


def test_logprobs_zero_gives_the_chosen_token_only() -> None:
    logits = random_logits(rows=2, seed=4)
    tokens, entries = sample(logits, [sequence(temperature=0.0, logprobs=0), sequence(temperature=0.0)])
    assert entries[0] is not None
    assert [other.token_id for other in entries[0].top] == [tokens[0]]
    assert entries[1] is None


def test_named_logprobs() -> None:
    logits = random_logits(seed=6)
    reference = torch.log_softmax(logits[0], -1)
    order = reference.argsort(descending=True).tolist()
    entry = ranked_logprobs(logits, [order[0]], [0], [(order[7], order[0], order[2])])[0]
    assert [(other.token_id, other.rank) for other in entry.top] == [
        (order[0], 1),
        (order[7], 8),
        (order[2], 3),
    ]


def test_ties_share_the_lowest_rank() -> None:
    """A rank counts every token that is at least as likely, as vLLM counts."""
    logits = torch.tensor([[1.0, 3.0, 3.0, 2.0]])
    assert ranked_logprobs(logits, [1], [0])[0].rank == 2
    assert ranked_logprobs(logits, [3], [0])[0].rank == 3


def test_the_host_reads_nothing_but_the_chosen_ids() -> None:
    """On a GPU each number read before them would make the host wait for the whole step."""
    output = (4, 5, 6)
    rows = [
        sequence(output=output, temperature=0.7, top_k=5, min_p=0.1, seed=1),
        sequence(output=output, temperature=0.0, repetition_penalty=1.2, frequency_penalty=0.3),
        sequence(output=output, temperature=1.0, seed=2, logit_bias={7: 3.0}, allowed_token_ids=(7, 8, 9)),
        sequence(output=output, temperature=0.0, bad_words_token_ids=((6, 3),), presence_penalty=0.5),
    ]
    logits = random_logits(4)
    expected, _ = sample(logits, rows)
    seen: list[list[int]] = []
    with Refusing(READS):
        tokens, _ = sample(logits, rows, before_reading=lambda ids: seen.append(ids.clone().tolist()))
        _top_p_of_all(torch.softmax(logits, -1), torch.tensor([[0.5], [0.9], [1.0], [0.2]]))
        with pytest.raises(RuntimeError, match="is refused"):
            logits.sum().item()
    assert seen == [tokens] == [expected]
