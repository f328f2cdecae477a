from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.entity_surroundings_kind import EntitySurroundingsKind, check_entity_surroundings_kind

if TYPE_CHECKING:
    from ..models.entity_surroundings_neighbours_item import EntitySurroundingsNeighboursItem
    from ..models.entity_surroundings_passages_item import EntitySurroundingsPassagesItem


T = TypeVar("T", bound="EntitySurroundings")


@_attrs_define
class EntitySurroundings:
    """
    Attributes:
        id (str): ent_…
        name (str):
        kind (EntitySurroundingsKind): how it was recognised
        memories (int): number of memories that mention it
        neighbours (list[EntitySurroundingsNeighboursItem]): entities of the same passages, the strongest connection
            first
        passages (list[EntitySurroundingsPassagesItem]): that mention it, newest first, at most 20
    """

    id: str
    name: str
    kind: EntitySurroundingsKind
    memories: int
    neighbours: list[EntitySurroundingsNeighboursItem]
    passages: list[EntitySurroundingsPassagesItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        kind: str = self.kind

        memories = self.memories

        neighbours = []
        for neighbours_item_data in self.neighbours:
            neighbours_item = neighbours_item_data.to_dict()
            neighbours.append(neighbours_item)

        passages = []
        for passages_item_data in self.passages:
            passages_item = passages_item_data.to_dict()
            passages.append(passages_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "kind": kind,
                "memories": memories,
                "neighbours": neighbours,
                "passages": passages,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.entity_surroundings_neighbours_item import EntitySurroundingsNeighboursItem  # noqa: PLC0415
        from ..models.entity_surroundings_passages_item import EntitySurroundingsPassagesItem  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        kind = check_entity_surroundings_kind(d.pop("kind"))

        memories = d.pop("memories")

        neighbours = []
        _neighbours = d.pop("neighbours")
        for neighbours_item_data in _neighbours:
            neighbours_item = EntitySurroundingsNeighboursItem.from_dict(neighbours_item_data)

            neighbours.append(neighbours_item)

        passages = []
        _passages = d.pop("passages")
        for passages_item_data in _passages:
            passages_item = EntitySurroundingsPassagesItem.from_dict(passages_item_data)

            passages.append(passages_item)

        entity_surroundings = cls(
            id=id,
            name=name,
            kind=kind,
            memories=memories,
            neighbours=neighbours,
            passages=passages,
        )

        entity_surroundings.additional_properties = d
        return entity_surroundings

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
