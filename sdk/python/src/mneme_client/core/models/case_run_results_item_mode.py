from __future__ import annotations

from typing import Literal

CaseRunResultsItemMode = Literal["balanced", "fast", "hybrid", "precise"]


def check_case_run_results_item_mode(value: str) -> CaseRunResultsItemMode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
