from __future__ import annotations

from typing import Literal

RelationBy = Literal["llm", "model", "person", "rule"]


def check_relation_by(value: str) -> RelationBy:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
