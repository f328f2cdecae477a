"""Give a webhook a new secret, which is shown only once."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of rotate_webhook_secret."""

    return {
        "method": "post",
        "url": "/webhooks/{id}/rotate-secret".format(
            id=quote(str(id), safe=""),
        ),
    }
