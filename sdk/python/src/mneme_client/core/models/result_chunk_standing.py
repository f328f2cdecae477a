from __future__ import annotations

from typing import Literal

ResultChunkStanding = Literal["instruction", "preference"]


def check_result_chunk_standing(value: str) -> ResultChunkStanding:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
