"""Delete a webhook and its pending deliveries."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of delete_webhook."""

    return {
        "method": "delete",
        "url": "/webhooks/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
