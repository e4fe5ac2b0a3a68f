"""Stop strings of a generate request, found in the text while the engine makes ids."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from dragoman import _core
from dragoman.engine import TokenOutput


class StopStrings:
    """The stop strings of one request, watched for in each of its choices."""

    def __init__(
        self,
        derenderer: _core.Derenderer,
        prompt: Sequence[int],
        sampling: dict[str, Any],
        *,
        reasoning_ended: bool | None,
    ) -> None:
        """``sampling`` are the wire's. Stop strings do not end what is thought, where a renderer said that
        reasoning is still open; without its word all text counts.
        """
        self._first: _core.StopWatch | None = None
        self._watches: dict[int, _core.StopWatch] = {}
        if sampling.get("stop"):
            parameters = json.dumps(sampling).encode()
            watches = reasoning_ended is False
            self._first = derenderer.watch_stops(prompt, parameters, reasoning=watches)

    def ended(self, output: TokenOutput) -> TokenOutput:
        """The output; where it completes a stop string, that is the end of its choice.

        All its ids stay: the string may end inside the last one, and it is the derenderer that cuts the text.
        """
        if self._first is None or not output.token_ids:
            return output
        if output.index not in self._watches:
            self._watches[output.index] = self._first.another()
        met = self._watches[output.index].push(output.token_ids)
        if met is None:
            return output
        return dataclasses.replace(output, finish_reason="stop", stop_reason=met)
