from __future__ import annotations

from typing import Literal

ListMemoriesOrder = Literal["newest", "oldest"]


def check_list_memories_order(value: str) -> ListMemoriesOrder:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
