from __future__ import annotations

from typing import Literal

MessageRole = Literal["assistant", "user"]


def check_message_role(value: str) -> MessageRole:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
