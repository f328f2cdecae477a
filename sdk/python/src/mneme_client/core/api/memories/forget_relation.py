"""Forget what a person said of two memories. A relation may be found again by itself."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET


def request(
    id: str,
    *,
    memory_id: str,
) -> dict[str, Any]:
    """Method, path and query of forget_relation."""
    params: dict[str, Any] = {}

    params["memory_id"] = memory_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "delete",
        "url": "/memories/{id}/relations".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }
