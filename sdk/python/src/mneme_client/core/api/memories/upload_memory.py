"""Store a file. An existing `externalId` updates its memory: 202 if the file has changed, otherwise 200."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of upload_memory."""

    return {
        "method": "post",
        "url": "/memories/upload",
    }
