from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SystemDisk")


@_attrs_define
class SystemDisk:
    """
    Attributes:
        free_bytes (int):
        total_bytes (int):
        is_full (bool): whether new data is refused
    """

    free_bytes: int
    total_bytes: int
    is_full: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        free_bytes = self.free_bytes

        total_bytes = self.total_bytes

        is_full = self.is_full

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "free_bytes": free_bytes,
                "total_bytes": total_bytes,
                "is_full": is_full,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        free_bytes = d.pop("free_bytes")

        total_bytes = d.pop("total_bytes")

        is_full = d.pop("is_full")

        system_disk = cls(
            free_bytes=free_bytes,
            total_bytes=total_bytes,
            is_full=is_full,
        )

        system_disk.additional_properties = d
        return system_disk

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
