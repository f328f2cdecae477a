from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.memory_graph_entities_item_kind import MemoryGraphEntitiesItemKind, check_memory_graph_entities_item_kind

T = TypeVar("T", bound="MemoryGraphEntitiesItem")


@_attrs_define
class MemoryGraphEntitiesItem:
    """
    Attributes:
        name (str):
        kind (MemoryGraphEntitiesItemKind):
        mentions (int): number of occurrences in this memory
        memories (int): number of memories with this entity, this one included
        chunk_ids (list[str]): passages that mention it, at most 100
    """

    name: str
    kind: MemoryGraphEntitiesItemKind
    mentions: int
    memories: int
    chunk_ids: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        kind: str = self.kind

        mentions = self.mentions

        memories = self.memories

        chunk_ids = self.chunk_ids

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "kind": kind,
                "mentions": mentions,
                "memories": memories,
                "chunk_ids": chunk_ids,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        kind = check_memory_graph_entities_item_kind(d.pop("kind"))

        mentions = d.pop("mentions")

        memories = d.pop("memories")

        chunk_ids = cast("list[str]", d.pop("chunk_ids"))

        memory_graph_entities_item = cls(
            name=name,
            kind=kind,
            mentions=mentions,
            memories=memories,
            chunk_ids=chunk_ids,
        )

        memory_graph_entities_item.additional_properties = d
        return memory_graph_entities_item

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
