from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="EntitySurroundingsPassagesItem")


@_attrs_define
class EntitySurroundingsPassagesItem:
    """
    Attributes:
        chunk_id (str):
        memory_id (str):
        content (str):
    """

    chunk_id: str
    memory_id: str
    content: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        chunk_id = self.chunk_id

        memory_id = self.memory_id

        content = self.content

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "chunk_id": chunk_id,
                "memory_id": memory_id,
                "content": content,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        chunk_id = d.pop("chunk_id")

        memory_id = d.pop("memory_id")

        content = d.pop("content")

        entity_surroundings_passages_item = cls(
            chunk_id=chunk_id,
            memory_id=memory_id,
            content=content,
        )

        entity_surroundings_passages_item.additional_properties = d
        return entity_surroundings_passages_item

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
