from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ActivityPointP95Ms")


@_attrs_define
class ActivityPointP95Ms:
    """95th percentile

    Attributes:
        fast (float | Unset):
        hybrid (float | Unset):
        balanced (float | Unset):
        precise (float | Unset):
    """

    fast: float | Unset = UNSET
    hybrid: float | Unset = UNSET
    balanced: float | Unset = UNSET
    precise: float | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        fast = self.fast

        hybrid = self.hybrid

        balanced = self.balanced

        precise = self.precise

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if fast is not UNSET:
            field_dict["fast"] = fast
        if hybrid is not UNSET:
            field_dict["hybrid"] = hybrid
        if balanced is not UNSET:
            field_dict["balanced"] = balanced
        if precise is not UNSET:
            field_dict["precise"] = precise

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        fast = d.pop("fast", UNSET)

        hybrid = d.pop("hybrid", UNSET)

        balanced = d.pop("balanced", UNSET)

        precise = d.pop("precise", UNSET)

        activity_point_p95_ms = cls(
            fast=fast,
            hybrid=hybrid,
            balanced=balanced,
            precise=precise,
        )

        activity_point_p95_ms.additional_properties = d
        return activity_point_p95_ms

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
