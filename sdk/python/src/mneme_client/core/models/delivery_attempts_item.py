from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="DeliveryAttemptsItem")


@_attrs_define
class DeliveryAttemptsItem:
    """
    Attributes:
        at (datetime.datetime): ISO 8601, UTC
        status_code (int | None):
        error (None | str):
        ms (int):
    """

    at: datetime.datetime
    status_code: int | None
    error: None | str
    ms: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        at = self.at.isoformat()

        status_code: int | None
        status_code = self.status_code

        error: None | str
        error = self.error

        ms = self.ms

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "at": at,
                "status_code": status_code,
                "error": error,
                "ms": ms,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        at = datetime.datetime.fromisoformat(d.pop("at").replace("Z", "+00:00"))

        def _parse_status_code(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        status_code = _parse_status_code(d.pop("status_code"))

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        error = _parse_error(d.pop("error"))

        ms = d.pop("ms")

        delivery_attempts_item = cls(
            at=at,
            status_code=status_code,
            error=error,
            ms=ms,
        )

        delivery_attempts_item.additional_properties = d
        return delivery_attempts_item

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
