from __future__ import annotations

from typing import Literal

InstalledModelCalibration = Literal["fitted", "none", "shipped"]


def check_installed_model_calibration(value: str) -> InstalledModelCalibration:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
