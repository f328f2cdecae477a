from __future__ import annotations

from typing import Literal

ListEntitiesKind = Literal["date", "identifier", "name", "phrase", "quote", "title"]


def check_list_entities_kind(value: str) -> ListEntitiesKind:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
