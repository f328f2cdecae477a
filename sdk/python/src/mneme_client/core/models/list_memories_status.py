from __future__ import annotations

from typing import Literal

ListMemoriesStatus = Literal["completed", "failed", "processing"]


def check_list_memories_status(value: str) -> ListMemoriesStatus:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
