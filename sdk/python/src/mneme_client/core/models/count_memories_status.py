from __future__ import annotations

from typing import Literal

CountMemoriesStatus = Literal["completed", "failed", "processing"]


def check_count_memories_status(value: str) -> CountMemoriesStatus:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
