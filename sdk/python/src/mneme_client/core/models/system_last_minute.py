from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SystemLastMinute")


@_attrs_define
class SystemLastMinute:
    """what happened in all projects on this node

    Attributes:
        stored (int):
        failed (int):
        searches (int):
        answers (int):
    """

    stored: int
    failed: int
    searches: int
    answers: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        stored = self.stored

        failed = self.failed

        searches = self.searches

        answers = self.answers

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "stored": stored,
                "failed": failed,
                "searches": searches,
                "answers": answers,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        stored = d.pop("stored")

        failed = d.pop("failed")

        searches = d.pop("searches")

        answers = d.pop("answers")

        system_last_minute = cls(
            stored=stored,
            failed=failed,
            searches=searches,
            answers=answers,
        )

        system_last_minute.additional_properties = d
        return system_last_minute

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
