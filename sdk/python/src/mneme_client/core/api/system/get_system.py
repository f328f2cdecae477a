"""Read the state of the server: processes, queues, sizes of the stores, disk, nodes, last backup."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of get_system."""

    return {
        "method": "get",
        "url": "/system",
    }
