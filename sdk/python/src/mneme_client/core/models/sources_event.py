from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.search_result import SearchResult


T = TypeVar("T", bound="SourcesEvent")


@_attrs_define
class SourcesEvent:
    """the passages behind the answer, cited ones first

    Attributes:
        event (Literal['sources']):
        data (list[SearchResult]):
    """

    event: Literal["sources"]
    data: list[SearchResult]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

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
        from ..models.search_result import SearchResult  # noqa: PLC0415

        d = dict(src_dict)
        event = cast("Literal['sources']", d.pop("event"))
        if event != "sources":
            raise ValueError(f"event must match const 'sources', got '{event}'")

        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = SearchResult.from_dict(data_item_data)

            data.append(data_item)

        sources_event = cls(
            event=event,
            data=data,
        )

        sources_event.additional_properties = d
        return sources_event

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
