"""Answer the last message from the stored memories, with citations."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_chat_completion."""

    return {
        "method": "post",
        "url": "/chat/completions",
    }
