from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ListedProjectSmartIngestion")


@_attrs_define
class ListedProjectSmartIngestion:
    """
    Attributes:
        enabled (bool):
        daily_token_limit (int | None):
    """

    enabled: bool
    daily_token_limit: int | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        enabled = self.enabled

        daily_token_limit: int | None
        daily_token_limit = self.daily_token_limit

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "enabled": enabled,
                "daily_token_limit": daily_token_limit,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        enabled = d.pop("enabled")

        def _parse_daily_token_limit(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        daily_token_limit = _parse_daily_token_limit(d.pop("daily_token_limit"))

        listed_project_smart_ingestion = cls(
            enabled=enabled,
            daily_token_limit=daily_token_limit,
        )

        listed_project_smart_ingestion.additional_properties = d
        return listed_project_smart_ingestion

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
