from __future__ import annotations

from typing import Literal

InstalledModelCalibrationJobType0State = Literal["failed", "running", "waiting"]


def check_installed_model_calibration_job_type_0_state(value: str) -> InstalledModelCalibrationJobType0State:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
