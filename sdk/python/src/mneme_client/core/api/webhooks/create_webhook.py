"""Create a webhook. The secret that signs its requests is shown only once."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_webhook."""

    return {
        "method": "post",
        "url": "/webhooks",
    }
