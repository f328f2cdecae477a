"""Send a message to a chat and receive the answer as a stream."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of stream_message."""

    return {
        "method": "post",
        "url": "/chats/{id}/messages/stream".format(
            id=quote(str(id), safe=""),
        ),
    }
