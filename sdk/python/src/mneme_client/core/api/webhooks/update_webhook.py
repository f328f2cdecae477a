"""Change a webhook. Absent fields stay unchanged."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of update_webhook."""

    return {
        "method": "put",
        "url": "/webhooks/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
