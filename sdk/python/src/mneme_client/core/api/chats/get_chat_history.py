"""Read a chat with all its messages, oldest first."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_chat_history."""

    return {
        "method": "get",
        "url": "/chats/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
