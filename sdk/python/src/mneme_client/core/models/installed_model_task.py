from __future__ import annotations

from typing import Literal

InstalledModelTask = Literal["embed", "read", "rerank"]


def check_installed_model_task(value: str) -> InstalledModelTask:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
