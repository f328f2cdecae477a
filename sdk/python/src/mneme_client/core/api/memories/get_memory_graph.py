"""Read the entities of a memory, their relations, and memories with the same entities."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    id: str,
    *,
    limit: int | Unset = 20,
) -> dict[str, Any]:
    """Method, path and query of get_memory_graph."""
    params: dict[str, Any] = {}

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/memories/{id}/graph".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }
