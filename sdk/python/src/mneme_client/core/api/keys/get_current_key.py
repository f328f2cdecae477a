"""Read the key of this request: what it may do, and in which project."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of get_current_key."""

    return {
        "method": "get",
        "url": "/keys/current",
    }
