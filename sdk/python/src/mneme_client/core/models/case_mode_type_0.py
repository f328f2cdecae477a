from __future__ import annotations

from typing import Literal

CaseModeType0 = Literal["balanced", "fast", "hybrid", "precise"]


def check_case_mode_type_0(value: str) -> CaseModeType0:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
