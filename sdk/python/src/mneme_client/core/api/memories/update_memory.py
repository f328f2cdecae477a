"""Change a memory. Absent fields stay unchanged, null clears a field. 202 if it is processed again: after new content, or another day (`occurred_at`) of a conversation; otherwise 200."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of update_memory."""

    return {
        "method": "put",
        "url": "/memories/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
