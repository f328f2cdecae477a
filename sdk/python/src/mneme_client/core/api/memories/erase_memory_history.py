"""Erase all earlier texts of a memory for good, such as a secret that was corrected."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of erase_memory_history."""

    return {
        "method": "delete",
        "url": "/memories/{id}/history".format(
            id=quote(str(id), safe=""),
        ),
    }
