from __future__ import annotations

from typing import Literal

SearchResultsExplainCalibration = Literal["fitted", "none", "shipped"]


def check_search_results_explain_calibration(value: str) -> SearchResultsExplainCalibration:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
