from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.usage_event_data import UsageEventData


T = TypeVar("T", bound="UsageEvent")


@_attrs_define
class UsageEvent:
    """tokens of the language model, the state of the answer, and the evidence of a query

    Attributes:
        event (Literal['usage']):
        data (UsageEventData):
    """

    event: Literal["usage"]
    data: UsageEventData
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "data": data,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.usage_event_data import UsageEventData  # noqa: PLC0415

        d = dict(src_dict)
        event = cast("Literal['usage']", d.pop("event"))
        if event != "usage":
            raise ValueError(f"event must match const 'usage', got '{event}'")

        data = UsageEventData.from_dict(d.pop("data"))

        usage_event = cls(
            event=event,
            data=data,
        )

        usage_event.additional_properties = d
        return usage_event

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
