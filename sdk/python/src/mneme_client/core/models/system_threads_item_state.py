from __future__ import annotations

from typing import Literal

SystemThreadsItemState = Literal["starting", "stopping", "up"]


def check_system_threads_item_state(value: str) -> SystemThreadsItemState:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
