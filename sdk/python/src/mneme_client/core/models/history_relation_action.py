from __future__ import annotations

from typing import Literal

HistoryRelationAction = Literal["removed", "set"]


def check_history_relation_action(value: str) -> HistoryRelationAction:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
