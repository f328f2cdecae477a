from __future__ import annotations

from typing import Literal

RelationState = Literal["active", "suggested"]


def check_relation_state(value: str) -> RelationState:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
