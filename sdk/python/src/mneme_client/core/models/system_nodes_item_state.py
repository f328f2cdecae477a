from __future__ import annotations

from typing import Literal

SystemNodesItemState = Literal["lost", "up"]


def check_system_nodes_item_state(value: str) -> SystemNodesItemState:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
