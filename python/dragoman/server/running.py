"""The requests that the engine works on, under the ids that clients know."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class RunningRequests:
    """Maps the ids of clients to the engine's.

    Two clients may send the same id, and one client may send an id again; the engine's own ids are unique.
    Used from the event loop only.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._engine_ids: dict[str, set[str]] = {}

    @contextmanager
    def entered(self, *client_ids: str) -> Iterator[str]:
        """The engine's id of a request that runs inside the block and is found under each client id."""
        engine_id = f"{client_ids[0]}-{next(self._numbers)}"
        for client_id in client_ids:
            self._engine_ids.setdefault(client_id, set()).add(engine_id)
        try:
            yield engine_id
        finally:
            for client_id in client_ids:
                known = self._engine_ids[client_id]
                known.discard(engine_id)
                if not known:
                    del self._engine_ids[client_id]

    def engine_ids(self, client_ids: Iterable[str]) -> list[str]:
        """The engine's ids of those requests that still run."""
        found: set[str] = set()
        for client_id in client_ids:
            found |= self._engine_ids.get(client_id, set())
        return sorted(found)
