"""Send a message to a chat and wait for the complete answer."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of send_message."""

    return {
        "method": "post",
        "url": "/chats/{id}/messages".format(
            id=quote(str(id), safe=""),
        ),
    }
