from __future__ import annotations

from typing import Literal

ListInstalledModelsTask = Literal["embed", "read", "rerank"]


def check_list_installed_models_task(value: str) -> ListInstalledModelsTask:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
