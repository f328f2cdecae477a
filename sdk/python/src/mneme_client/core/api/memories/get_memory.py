"""Read one memory."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    id: str,
    *,
    known_at: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of get_memory."""
    params: dict[str, Any] = {}

    params["knownAt"] = known_at

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/memories/{id}".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }
