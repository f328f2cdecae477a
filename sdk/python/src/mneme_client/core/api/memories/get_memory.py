"""Read one memory."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_memory."""

    return {
        "method": "get",
        "url": "/memories/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
