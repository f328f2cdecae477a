from __future__ import annotations

from typing import Literal

SearchResultsExplainMode = Literal["balanced", "fast", "hybrid", "precise"]


def check_search_results_explain_mode(value: str) -> SearchResultsExplainMode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
