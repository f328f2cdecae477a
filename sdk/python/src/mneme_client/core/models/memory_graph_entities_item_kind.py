from __future__ import annotations

from typing import Literal

MemoryGraphEntitiesItemKind = Literal["date", "identifier", "name", "phrase", "quote", "title"]


def check_memory_graph_entities_item_kind(value: str) -> MemoryGraphEntitiesItemKind:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
