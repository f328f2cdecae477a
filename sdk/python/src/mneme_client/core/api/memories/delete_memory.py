"""Delete a memory. It disappears from all answers at once, and is purged after the project's retention period."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    id: str,
    *,
    purge: bool | Unset = False,
) -> dict[str, Any]:
    """Method, path and query of delete_memory."""
    params: dict[str, Any] = {}

    params["purge"] = purge

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "delete",
        "url": "/memories/{id}".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }
