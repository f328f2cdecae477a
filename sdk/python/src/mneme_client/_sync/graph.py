"""Made by sdk/generate.ts from the asynchronous half. The graph: entities that memories mention, and how they are connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._shared import body_of
from ..core.api.graph import find_path, get_entity, list_entities, update_entity
from ..core.models.entity import Entity
from ..core.models.entity_list import EntityList
from ..core.models.entity_path import EntityPath
from ..core.models.entity_surroundings import EntitySurroundings
from ..core.models.list_entities_kind import ListEntitiesKind
from ..core.types import UNSET, Unset
from .lists import List
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions


class Graph:
    """The operations on entities."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def entities(
        self,
        *,
        q: str | Unset = UNSET,
        kind: ListEntitiesKind | Unset = UNSET,
        user_id: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> List[Entity]:
        """List entities, those that most memories mention first. `q` is a part of the name."""

        def fetch(cursor: str | Unset) -> EntityList:
            request = list_entities.request(q=q, kind=kind, user_id=user_id, limit=limit, cursor=cursor)
            return self._transport.call(request, EntityList.from_dict, options)

        return List(fetch)

    def entity(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        user_id: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> EntitySurroundings:
        """Read an entity with at most `limit` neighbours, and passages that mention it."""
        request = get_entity.request(id, user_id=user_id, limit=limit)
        return self._transport.call(request, EntitySurroundings.from_dict, options)

    def update(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        name: str | None | Unset = UNSET,
        merged_into: str | None | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> Entity:
        """Set the name of an entity, or merge it into another one. None undoes either."""
        body = body_of(name=name, merged_into=merged_into)
        return self._transport.call(update_entity.request(id), Entity.from_dict, options, body=body)

    def path(self, from_: str, to: str, *, user_id: str | Unset = UNSET, **options: Unpack[CallOptions]) -> EntityPath:
        """Find a shortest path between two entities."""
        request = find_path.request(from_=from_, to=to, user_id=user_id)
        return self._transport.call(request, EntityPath.from_dict, options)
