"""Process failed memories again, at most 1000 per request, those first that were stored first."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of retry_memories."""

    return {
        "method": "post",
        "url": "/memories/retry",
    }
