from __future__ import annotations

from typing import Literal

CaseRunModesType0Item = Literal["balanced", "fast", "hybrid", "precise"]


def check_case_run_modes_type_0_item(value: str) -> CaseRunModesType0Item:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
