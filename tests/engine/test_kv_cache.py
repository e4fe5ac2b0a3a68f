"""Block bookkeeping."""

from __future__ import annotations

import pytest

from dragoman.engine.kv_cache import ROOT_HASH, BlockPool, hash_block


def test_allocates_all_or_nothing() -> None:
    pool = BlockPool(4, 16)
    assert pool.allocate(5) is None
    assert pool.num_free == 4
    blocks = pool.allocate(3)
    assert blocks is not None
    assert len(set(blocks)) == 3
    assert pool.usage == pytest.approx(0.75)
    pool.release(blocks)
    assert pool.usage == 0.0


def test_shared_block_is_freed_by_its_last_user() -> None:
    pool = BlockPool(2, 16)
    (block,) = pool.allocate(1) or []
    pool.reference(block)
    pool.release([block])
    assert pool.num_free == 1
    pool.release([block])
    assert pool.num_free == 2


def test_freed_content_is_found_until_it_is_reused() -> None:
    pool = BlockPool(3, 16)
    blocks = pool.allocate(3) or []
    names = [hash_block(ROOT_HASH, [number], None) for number in range(3)]
    for block, name in zip(blocks, names, strict=True):
        pool.register(block, name)
    pool.release(blocks)
    assert [pool.find(name) for name in names] == blocks
    # The end of a sequence is reused before its beginning.
    pool.allocate(1)
    assert [pool.find(name) for name in names] == [blocks[0], blocks[1], None]


def test_block_without_content_is_reused_first() -> None:
    pool = BlockPool(2, 16)
    cached, plain = pool.allocate(2) or []
    name = hash_block(ROOT_HASH, [1], None)
    pool.register(cached, name)
    pool.release([cached])
    pool.release([plain])
    assert pool.allocate(1) == [plain]
    assert pool.find(name) == cached


def test_hash_depends_on_everything_before_and_on_the_salt() -> None:
    first = hash_block(ROOT_HASH, [1, 2], None)
    assert first == hash_block(ROOT_HASH, [1, 2], None)
    others = [
        hash_block(ROOT_HASH, [2, 1], None),
        hash_block(ROOT_HASH, [1, 2], "salt"),
        hash_block(ROOT_HASH, [1, 2], ""),
        hash_block(first, [1, 2], None),
    ]
    assert len({first, *others}) == 5


def test_without_caching_nothing_is_found() -> None:
    pool = BlockPool(1, 16, caching=False)
    (block,) = pool.allocate(1) or []
    name = hash_block(ROOT_HASH, [1], None)
    pool.register(block, name)
    assert pool.find(name) is None


def test_forget_all() -> None:
    pool = BlockPool(1, 16)
    (block,) = pool.allocate(1) or []
    name = hash_block(ROOT_HASH, [1], None)
    pool.register(block, name)
    pool.forget_all()
    assert pool.find(name) is None
    pool.release([block])
    assert pool.allocate(1) == [block]
