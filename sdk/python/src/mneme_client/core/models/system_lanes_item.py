from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SystemLanesItem")


@_attrs_define
class SystemLanesItem:
    """
    Attributes:
        name (str):
        status (str): `up`, `starting`, `draining`, …
        restarts (int):
        rss_bytes (int): resident memory; 0 if not known yet
        provider (None | str): what computes the models; null if it is not up
        in_flight (int): requests that it has not answered yet
    """

    name: str
    status: str
    restarts: int
    rss_bytes: int
    provider: None | str
    in_flight: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        status = self.status

        restarts = self.restarts

        rss_bytes = self.rss_bytes

        provider: None | str
        provider = self.provider

        in_flight = self.in_flight

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "status": status,
                "restarts": restarts,
                "rss_bytes": rss_bytes,
                "provider": provider,
                "in_flight": in_flight,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        status = d.pop("status")

        restarts = d.pop("restarts")

        rss_bytes = d.pop("rss_bytes")

        def _parse_provider(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        provider = _parse_provider(d.pop("provider"))

        in_flight = d.pop("in_flight")

        system_lanes_item = cls(
            name=name,
            status=status,
            restarts=restarts,
            rss_bytes=rss_bytes,
            provider=provider,
            in_flight=in_flight,
        )

        system_lanes_item.additional_properties = d
        return system_lanes_item

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
