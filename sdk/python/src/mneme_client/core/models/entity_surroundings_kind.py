from __future__ import annotations

from typing import Literal

EntitySurroundingsKind = Literal["date", "identifier", "name", "phrase", "quote", "title"]


def check_entity_surroundings_kind(value: str) -> EntitySurroundingsKind:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
