from __future__ import annotations

from typing import Literal

InstalledModelStatus = Literal["checking", "downloading", "failed", "ready"]


def check_installed_model_status(value: str) -> InstalledModelStatus:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
