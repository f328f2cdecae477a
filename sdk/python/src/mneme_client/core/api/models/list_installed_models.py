"""List the models of the deployment: built-in ones, then the others in the order in which they were added."""

from __future__ import annotations

from typing import Any

from ...models.list_installed_models_task import ListInstalledModelsTask
from ...types import UNSET, Unset


def request(
    *,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
    task: ListInstalledModelsTask | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of list_installed_models."""
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    json_task: str | Unset = UNSET
    if not isinstance(task, Unset):
        json_task = task

    params["task"] = json_task

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/installed-models",
        "params": params,
    }
