"""Read one webhook."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_webhook."""

    return {
        "method": "get",
        "url": "/webhooks/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
