"""Fetch the URL of a memory again. 202 if its content has changed, which is processed again; otherwise 200, and nothing changes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of refetch_memory."""

    return {
        "method": "post",
        "url": "/memories/{id}/refetch".format(
            id=quote(str(id), safe=""),
        ),
    }
