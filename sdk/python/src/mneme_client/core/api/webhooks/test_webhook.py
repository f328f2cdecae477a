"""Send a webhook.test event to this webhook."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of test_webhook."""

    return {
        "method": "post",
        "url": "/webhooks/{id}/test".format(
            id=quote(str(id), safe=""),
        ),
    }
