from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.memory_graph_status import MemoryGraphStatus, check_memory_graph_status

if TYPE_CHECKING:
    from ..models.memory_graph_entities_item import MemoryGraphEntitiesItem
    from ..models.memory_graph_neighbours_item import MemoryGraphNeighboursItem
    from ..models.memory_graph_relations_item import MemoryGraphRelationsItem


T = TypeVar("T", bound="MemoryGraph")


@_attrs_define
class MemoryGraph:
    """
    Attributes:
        memory_id (str):
        status (MemoryGraphStatus): a memory has no links before it is completed
        entities (list[MemoryGraphEntitiesItem]): most distinctive first
        relations (list[MemoryGraphRelationsItem]): facts that a language model extracted from the memory
        neighbours (list[MemoryGraphNeighboursItem]): memories that mention the same entities, nearest first
    """

    memory_id: str
    status: MemoryGraphStatus
    entities: list[MemoryGraphEntitiesItem]
    relations: list[MemoryGraphRelationsItem]
    neighbours: list[MemoryGraphNeighboursItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        memory_id = self.memory_id

        status: str = self.status

        entities = []
        for entities_item_data in self.entities:
            entities_item = entities_item_data.to_dict()
            entities.append(entities_item)

        relations = []
        for relations_item_data in self.relations:
            relations_item = relations_item_data.to_dict()
            relations.append(relations_item)

        neighbours = []
        for neighbours_item_data in self.neighbours:
            neighbours_item = neighbours_item_data.to_dict()
            neighbours.append(neighbours_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "memory_id": memory_id,
                "status": status,
                "entities": entities,
                "relations": relations,
                "neighbours": neighbours,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.memory_graph_entities_item import MemoryGraphEntitiesItem  # noqa: PLC0415
        from ..models.memory_graph_neighbours_item import MemoryGraphNeighboursItem  # noqa: PLC0415
        from ..models.memory_graph_relations_item import MemoryGraphRelationsItem  # noqa: PLC0415

        d = dict(src_dict)
        memory_id = d.pop("memory_id")

        status = check_memory_graph_status(d.pop("status"))

        entities = []
        _entities = d.pop("entities")
        for entities_item_data in _entities:
            entities_item = MemoryGraphEntitiesItem.from_dict(entities_item_data)

            entities.append(entities_item)

        relations = []
        _relations = d.pop("relations")
        for relations_item_data in _relations:
            relations_item = MemoryGraphRelationsItem.from_dict(relations_item_data)

            relations.append(relations_item)

        neighbours = []
        _neighbours = d.pop("neighbours")
        for neighbours_item_data in _neighbours:
            neighbours_item = MemoryGraphNeighboursItem.from_dict(neighbours_item_data)

            neighbours.append(neighbours_item)

        memory_graph = cls(
            memory_id=memory_id,
            status=status,
            entities=entities,
            relations=relations,
            neighbours=neighbours,
        )

        memory_graph.additional_properties = d
        return memory_graph

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
