"""Store a text. An existing `externalId` updates its memory: 202 if the text has changed, otherwise 200."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_memory."""

    return {
        "method": "post",
        "url": "/memories",
    }
