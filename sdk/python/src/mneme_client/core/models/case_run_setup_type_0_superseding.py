from __future__ import annotations

from typing import Literal

CaseRunSetupType0Superseding = Literal["off", "on", "suggest"]


def check_case_run_setup_type_0_superseding(value: str) -> CaseRunSetupType0Superseding:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
