"""Which block of the paged key/value cache belongs to whom; pure bookkeeping, no tensors."""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Sequence as AbstractSequence

BlockHash = bytes
ROOT_HASH: BlockHash = b""


def hash_block(parent: BlockHash, token_ids: AbstractSequence[int], salt: str | None) -> BlockHash:
    """Name a full block by everything that its contents depend on: all tokens up to its end, and the salt.

    A cryptographic hash, because a collision would show one caller's context to another.
    """
    digest = hashlib.blake2b(parent, digest_size=16)
    if not parent and salt is not None:
        digest.update(salt.encode())
        digest.update(b"\0")
    digest.update(array("q", token_ids).tobytes())
    return digest.digest()


class BlockPool:
    """Hands out blocks, counts references, and remembers what freed blocks hold until they are reused.

    With ``caching`` a block whose last reference goes away stays findable by its hash; the block that was
    freed longest ago is reused first.
    """

    def __init__(self, num_blocks: int, block_size: int, *, caching: bool = True) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.caching = caching
        self._references = [0] * num_blocks
        self._hash_of_block: list[BlockHash | None] = [None] * num_blocks
        self._block_of_hash: dict[BlockHash, int] = {}
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(num_blocks))

    @property
    def num_free(self) -> int:
        return len(self._free)

    @property
    def usage(self) -> float:
        """Share of the blocks in use, 0 to 1."""
        return 1.0 - len(self._free) / self.num_blocks

    def blocks_for(self, num_tokens: int) -> int:
        """How many blocks ``num_tokens`` tokens take."""
        return -(-num_tokens // self.block_size)

    def allocate(self, count: int) -> list[int] | None:
        """``count`` fresh blocks with one reference each; ``None``, with nothing taken, if too few."""
        if count > len(self._free):
            return None
        blocks = []
        for _ in range(count):
            block, _ = self._free.popitem(last=False)
            self._forget(block)
            self._references[block] = 1
            blocks.append(block)
        return blocks

    def find(self, block_hash: BlockHash) -> int | None:
        """The block that holds this content, if any; it is not referenced yet."""
        return self._block_of_hash.get(block_hash)

    def is_free(self, block: int) -> bool:
        return self._references[block] == 0

    def reference(self, block: int) -> None:
        """Take one more reference to a block that :meth:`find` returned."""
        if self._references[block] == 0:
            del self._free[block]
        self._references[block] += 1

    def release(self, blocks: AbstractSequence[int]) -> None:
        """Give one reference of each block back.

        Back to front, so that the end of a sequence is reused before its beginning, which more callers share.
        """
        for block in reversed(blocks):
            self._references[block] -= 1
            if self._references[block] == 0:
                self._free[block] = None
                if self._hash_of_block[block] is None:
                    # Nothing in it is worth keeping: reuse it before any cached one.
                    self._free.move_to_end(block, last=False)

    def register(self, block: int, block_hash: BlockHash) -> None:
        """Say what a full block holds, so that others find it. The first block with a content stays it."""
        if self.caching and block_hash not in self._block_of_hash:
            self._forget(block)
            self._block_of_hash[block_hash] = block
            self._hash_of_block[block] = block_hash

    def forget_all(self) -> None:
        """Drop every remembered content, as after a change of weights. References stay as they are."""
        self._block_of_hash.clear()
        self._hash_of_block = [None] * self.num_blocks

    def _forget(self, block: int) -> None:
        old = self._hash_of_block[block]
        if old is not None:
            self._hash_of_block[block] = None
            del self._block_of_hash[old]
