from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.result_chunk import ResultChunk
    from ..models.result_memory import ResultMemory


T = TypeVar("T", bound="ResultMetadata")


@_attrs_define
class ResultMetadata:
    """metadata of the memory, plus two fields

    Attributes:
        memory (ResultMemory): other attributes of the memory
        chunk (ResultChunk): place of the passage
    """

    memory: ResultMemory
    chunk: ResultChunk
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        memory = self.memory.to_dict()

        chunk = self.chunk.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "_memory": memory,
                "_chunk": chunk,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.result_chunk import ResultChunk  # noqa: PLC0415
        from ..models.result_memory import ResultMemory  # noqa: PLC0415

        d = dict(src_dict)
        memory = ResultMemory.from_dict(d.pop("_memory"))

        chunk = ResultChunk.from_dict(d.pop("_chunk"))

        result_metadata = cls(
            memory=memory,
            chunk=chunk,
        )

        result_metadata.additional_properties = d
        return result_metadata

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
