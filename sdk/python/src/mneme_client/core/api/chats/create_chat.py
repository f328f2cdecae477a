"""Create a chat. Its messages search the memories of its user, agent and session; without them, the whole project."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_chat."""

    return {
        "method": "post",
        "url": "/chats",
    }
