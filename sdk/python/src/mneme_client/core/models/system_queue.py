from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SystemQueue")


@_attrs_define
class SystemQueue:
    """
    Attributes:
        searches_in_progress (int):
        searches_waiting (int):
        memories_processing (int): of all projects
        memories_failed (int): of all projects
        relations_waiting (int): memories whose relations have not been looked for yet
    """

    searches_in_progress: int
    searches_waiting: int
    memories_processing: int
    memories_failed: int
    relations_waiting: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        searches_in_progress = self.searches_in_progress

        searches_waiting = self.searches_waiting

        memories_processing = self.memories_processing

        memories_failed = self.memories_failed

        relations_waiting = self.relations_waiting

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "searches_in_progress": searches_in_progress,
                "searches_waiting": searches_waiting,
                "memories_processing": memories_processing,
                "memories_failed": memories_failed,
                "relations_waiting": relations_waiting,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        searches_in_progress = d.pop("searches_in_progress")

        searches_waiting = d.pop("searches_waiting")

        memories_processing = d.pop("memories_processing")

        memories_failed = d.pop("memories_failed")

        relations_waiting = d.pop("relations_waiting")

        system_queue = cls(
            searches_in_progress=searches_in_progress,
            searches_waiting=searches_waiting,
            memories_processing=memories_processing,
            memories_failed=memories_failed,
            relations_waiting=relations_waiting,
        )

        system_queue.additional_properties = d
        return system_queue

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
