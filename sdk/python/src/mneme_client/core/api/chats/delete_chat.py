"""Delete a chat and its messages permanently."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of delete_chat."""

    return {
        "method": "delete",
        "url": "/chats/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
