from __future__ import annotations

from typing import Literal

MemoryGraphStatus = Literal["completed", "failed", "processing"]


def check_memory_graph_status(value: str) -> MemoryGraphStatus:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
