from __future__ import annotations

from typing import Literal

SearchMemoriesByUrlMode = Literal["balanced", "fast", "hybrid", "precise"]


def check_search_memories_by_url_mode(value: str) -> SearchMemoriesByUrlMode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
