from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="MemoryWithoutContentProgress")


@_attrs_define
class MemoryWithoutContentProgress:
    """present while processing

    Attributes:
        stage (str):
        chunks_done (int):
        chunks_total (int | None):
        pages_done (int | Unset): while a PDF is read
        pages_total (int | Unset): while a PDF is read
        note (str | Unset): why no language model is used for extraction, if one is configured
    """

    stage: str
    chunks_done: int
    chunks_total: int | None
    pages_done: int | Unset = UNSET
    pages_total: int | Unset = UNSET
    note: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        stage = self.stage

        chunks_done = self.chunks_done

        chunks_total: int | None
        chunks_total = self.chunks_total

        pages_done = self.pages_done

        pages_total = self.pages_total

        note = self.note

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "stage": stage,
                "chunks_done": chunks_done,
                "chunks_total": chunks_total,
            }
        )
        if pages_done is not UNSET:
            field_dict["pages_done"] = pages_done
        if pages_total is not UNSET:
            field_dict["pages_total"] = pages_total
        if note is not UNSET:
            field_dict["note"] = note

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        stage = d.pop("stage")

        chunks_done = d.pop("chunks_done")

        def _parse_chunks_total(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        chunks_total = _parse_chunks_total(d.pop("chunks_total"))

        pages_done = d.pop("pages_done", UNSET)

        pages_total = d.pop("pages_total", UNSET)

        note = d.pop("note", UNSET)

        memory_without_content_progress = cls(
            stage=stage,
            chunks_done=chunks_done,
            chunks_total=chunks_total,
            pages_done=pages_done,
            pages_total=pages_total,
            note=note,
        )

        memory_without_content_progress.additional_properties = d
        return memory_without_content_progress

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
