"""Read an entity, those of the same passages, and passages that mention it. One that was merged into another answers with the other."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...types import UNSET, Unset


def request(
    id: str,
    *,
    user_id: str | Unset = UNSET,
    limit: int | Unset = 20,
) -> dict[str, Any]:
    """Method, path and query of get_entity."""
    params: dict[str, Any] = {}

    params["userId"] = user_id

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/graph/entities/{id}".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }
