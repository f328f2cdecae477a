"""Change the title of a chat."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of update_chat."""

    return {
        "method": "put",
        "url": "/chats/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
