from __future__ import annotations

from typing import Literal

CurrentKeyScopesItem = Literal[
    "*",
    "admin",
    "chats:read",
    "chats:write",
    "keys",
    "memories:read",
    "memories:write",
    "project",
    "query",
    "usage",
    "users:read",
    "users:write",
    "webhooks",
]


def check_current_key_scopes_item(value: str) -> CurrentKeyScopesItem:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
