"""Find passages, best first."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of search_memories."""

    return {
        "method": "post",
        "url": "/memories/search",
    }
