from __future__ import annotations

from typing import Literal

MemoryWithoutContentExtraction = Literal["caller", "llm", "local"]


def check_memory_without_content_extraction(value: str) -> MemoryWithoutContentExtraction:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
