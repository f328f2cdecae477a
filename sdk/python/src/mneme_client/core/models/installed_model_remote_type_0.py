from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.installed_model_remote_type_0_api import (
    InstalledModelRemoteType0Api,
    check_installed_model_remote_type_0_api,
)

T = TypeVar("T", bound="InstalledModelRemoteType0")


@_attrs_define
class InstalledModelRemoteType0:
    """the endpoint

    Attributes:
        api (InstalledModelRemoteType0Api):
        base_url (str):
        model (str):
    """

    api: InstalledModelRemoteType0Api
    base_url: str
    model: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        api: str = self.api

        base_url = self.base_url

        model = self.model

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "api": api,
                "base_url": base_url,
                "model": model,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        api = check_installed_model_remote_type_0_api(d.pop("api"))

        base_url = d.pop("base_url")

        model = d.pop("model")

        installed_model_remote_type_0 = cls(
            api=api,
            base_url=base_url,
            model=model,
        )

        installed_model_remote_type_0.additional_properties = d
        return installed_model_remote_type_0

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
