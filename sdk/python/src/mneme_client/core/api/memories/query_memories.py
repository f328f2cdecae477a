"""Answer a question from the stored memories, with sources."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of query_memories."""

    return {
        "method": "post",
        "url": "/memories/query",
    }
