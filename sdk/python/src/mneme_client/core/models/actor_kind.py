from __future__ import annotations

from typing import Literal

ActorKind = Literal["key", "llm", "model", "rule", "system"]


def check_actor_kind(value: str) -> ActorKind:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
