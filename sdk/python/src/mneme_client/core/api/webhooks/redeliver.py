"""Send a delivery again, with the same `webhook-id`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
    delivery_id: str,
) -> dict[str, Any]:
    """Method, path and query of redeliver."""

    return {
        "method": "post",
        "url": "/webhooks/{id}/deliveries/{delivery_id}/redeliver".format(
            id=quote(str(id), safe=""),
            delivery_id=quote(str(delivery_id), safe=""),
        ),
    }
