from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="InstalledModelProgressType0")


@_attrs_define
class InstalledModelProgressType0:
    """
    Attributes:
        bytes_done (int):
        bytes_total (int | None):
    """

    bytes_done: int
    bytes_total: int | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        bytes_done = self.bytes_done

        bytes_total: int | None
        bytes_total = self.bytes_total

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "bytes_done": bytes_done,
                "bytes_total": bytes_total,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        bytes_done = d.pop("bytes_done")

        def _parse_bytes_total(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        bytes_total = _parse_bytes_total(d.pop("bytes_total"))

        installed_model_progress_type_0 = cls(
            bytes_done=bytes_done,
            bytes_total=bytes_total,
        )

        installed_model_progress_type_0.additional_properties = d
        return installed_model_progress_type_0

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
