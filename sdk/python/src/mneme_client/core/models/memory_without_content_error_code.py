from __future__ import annotations

from typing import Literal

MemoryWithoutContentErrorCode = Literal["processing_error", "unreadable_document"]


def check_memory_without_content_error_code(value: str) -> MemoryWithoutContentErrorCode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
