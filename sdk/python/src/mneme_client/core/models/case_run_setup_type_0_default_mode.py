from __future__ import annotations

from typing import Literal

CaseRunSetupType0DefaultMode = Literal["balanced", "fast", "hybrid", "precise"]


def check_case_run_setup_type_0_default_mode(value: str) -> CaseRunSetupType0DefaultMode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
