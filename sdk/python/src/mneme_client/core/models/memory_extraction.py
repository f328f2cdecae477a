from __future__ import annotations

from typing import Literal

MemoryExtraction = Literal["caller", "llm", "local"]


def check_memory_extraction(value: str) -> MemoryExtraction:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
