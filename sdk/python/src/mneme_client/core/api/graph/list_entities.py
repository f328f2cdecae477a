"""List the entities that memories mention, those that most memories mention first."""

from __future__ import annotations

from typing import Any

from ...models.list_entities_kind import ListEntitiesKind
from ...types import UNSET, Unset


def request(
    *,
    limit: int | Unset = 20,
    cursor: str | Unset = UNSET,
    q: str | Unset = UNSET,
    kind: ListEntitiesKind | Unset = UNSET,
    user_id: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of list_entities."""
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    params["q"] = q

    json_kind: str | Unset = UNSET
    if not isinstance(kind, Unset):
        json_kind = kind

    params["kind"] = json_kind

    params["userId"] = user_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/graph/entities",
        "params": params,
    }
