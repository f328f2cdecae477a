"""Read the project's usage, compared with its plan."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of get_usage."""

    return {
        "method": "get",
        "url": "/usage",
    }
