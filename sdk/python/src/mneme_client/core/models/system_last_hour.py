from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SystemLastHour")


@_attrs_define
class SystemLastHour:
    """the same in each of the last 60 minutes, oldest first; the last one is in progress

    Attributes:
        stored (list[int]):
        failed (list[int]):
        searches (list[int]):
        answers (list[int]):
    """

    stored: list[int]
    failed: list[int]
    searches: list[int]
    answers: list[int]
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
        stored = cast("list[int]", d.pop("stored"))

        failed = cast("list[int]", d.pop("failed"))

        searches = cast("list[int]", d.pop("searches"))

        answers = cast("list[int]", d.pop("answers"))

        system_last_hour = cls(
            stored=stored,
            failed=failed,
            searches=searches,
            answers=answers,
        )

        system_last_hour.additional_properties = d
        return system_last_hour

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
