from __future__ import annotations

from typing import Literal

MemoryWithoutContentStatus = Literal["completed", "failed", "processing"]


def check_memory_without_content_status(value: str) -> MemoryWithoutContentStatus:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
