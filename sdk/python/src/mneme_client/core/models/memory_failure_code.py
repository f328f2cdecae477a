from __future__ import annotations

from typing import Literal

MemoryFailureCode = Literal["processing_error", "unreadable_document"]


def check_memory_failure_code(value: str) -> MemoryFailureCode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
