from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="CaseExpected")


@_attrs_define
class CaseExpected:
    """
    Attributes:
        memory_ids (list[str] | Unset):
        not_found (bool | Unset):
    """

    memory_ids: list[str] | Unset = UNSET
    not_found: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        memory_ids: list[str] | Unset = UNSET
        if not isinstance(self.memory_ids, Unset):
            memory_ids = self.memory_ids

        not_found = self.not_found

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if memory_ids is not UNSET:
            field_dict["memory_ids"] = memory_ids
        if not_found is not UNSET:
            field_dict["not_found"] = not_found

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        memory_ids = cast("list[str]", d.pop("memory_ids", UNSET))

        not_found = d.pop("not_found", UNSET)

        case_expected = cls(
            memory_ids=memory_ids,
            not_found=not_found,
        )

        case_expected.additional_properties = d
        return case_expected

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
