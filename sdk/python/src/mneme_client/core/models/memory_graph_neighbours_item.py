from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="MemoryGraphNeighboursItem")


@_attrs_define
class MemoryGraphNeighboursItem:
    """
    Attributes:
        memory_id (str):
        title (None | str):
        score (float): 1 for the nearest neighbour
        entities (list[str]): entities that both memories mention
    """

    memory_id: str
    title: None | str
    score: float
    entities: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        memory_id = self.memory_id

        title: None | str
        title = self.title

        score = self.score

        entities = self.entities

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "memory_id": memory_id,
                "title": title,
                "score": score,
                "entities": entities,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        memory_id = d.pop("memory_id")

        def _parse_title(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        title = _parse_title(d.pop("title"))

        score = d.pop("score")

        entities = cast("list[str]", d.pop("entities"))

        memory_graph_neighbours_item = cls(
            memory_id=memory_id,
            title=title,
            score=score,
            entities=entities,
        )

        memory_graph_neighbours_item.additional_properties = d
        return memory_graph_neighbours_item

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
