"""Change a key's name, scopes or expiry."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    id: str,
    *,
    project_id: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of update_key."""
    params: dict[str, Any] = {}

    params["projectId"] = project_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "patch",
        "url": "/keys/{id}".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }
