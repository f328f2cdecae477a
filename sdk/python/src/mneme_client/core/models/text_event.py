from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.text_event_data import TextEventData


T = TypeVar("T", bound="TextEvent")


@_attrs_define
class TextEvent:
    """a piece of the answer

    Attributes:
        event (Literal['text']):
        data (TextEventData):
    """

    event: Literal["text"]
    data: TextEventData
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
        from ..models.text_event_data import TextEventData  # noqa: PLC0415

        d = dict(src_dict)
        event = cast("Literal['text']", d.pop("event"))
        if event != "text":
            raise ValueError(f"event must match const 'text', got '{event}'")

        data = TextEventData.from_dict(d.pop("data"))

        text_event = cls(
            event=event,
            data=data,
        )

        text_event.additional_properties = d
        return text_event

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
