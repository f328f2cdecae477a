from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SystemMemory")


@_attrs_define
class SystemMemory:
    """
    Attributes:
        rss_bytes (int): resident memory of the server without its lanes
        free_bytes (int): what this machine or container could still give
    """

    rss_bytes: int
    free_bytes: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        rss_bytes = self.rss_bytes

        free_bytes = self.free_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "rss_bytes": rss_bytes,
                "free_bytes": free_bytes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        rss_bytes = d.pop("rss_bytes")

        free_bytes = d.pop("free_bytes")

        system_memory = cls(
            rss_bytes=rss_bytes,
            free_bytes=free_bytes,
        )

        system_memory.additional_properties = d
        return system_memory

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
