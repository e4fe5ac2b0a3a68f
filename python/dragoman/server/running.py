"""The requests that the engine works on, under the ids that clients know."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


@dataclasses.dataclass(slots=True, eq=False)
class RunningRequest:
    """`engine_id` is the engine's own id. `aborted` is set by an abort, which may come before the engine has the
    request: while its grammar compiles."""

    engine_id: str
    aborted: bool = False


class RunningRequests:
    """Maps the ids of clients to the engine's.

    Two clients may send the same id, and one client may send an id again; the engine's own ids are unique.
    Used from the event loop only.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._running: dict[str, set[RunningRequest]] = {}

    @contextmanager
    def entered(self, *client_ids: str) -> Iterator[RunningRequest]:
        """A request that runs inside the block and is found under each client id."""
        request = RunningRequest(f"{client_ids[0]}-{next(self._numbers)}")
        for client_id in client_ids:
            self._running.setdefault(client_id, set()).add(request)
        try:
            yield request
        finally:
            for client_id in client_ids:
                known = self._running[client_id]
                known.discard(request)
                if not known:
                    del self._running[client_id]

    def abort(self, client_ids: Iterable[str]) -> list[str]:
        """Marks those requests that still run as aborted; the engine's ids of them."""
        found: set[RunningRequest] = set()
        for client_id in client_ids:
            found |= self._running.get(client_id, set())
        for request in found:
            request.aborted = True
        return sorted(request.engine_id for request in found)
