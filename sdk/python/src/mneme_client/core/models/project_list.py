from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.listed_project import ListedProject


T = TypeVar("T", bound="ProjectList")


@_attrs_define
class ProjectList:
    """
    Attributes:
        data (list[ListedProject]):
        has_more (bool):
        cursor (None | str): pass it to the next request; null on the last page
    """

    data: list[ListedProject]
    has_more: bool
    cursor: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        has_more = self.has_more

        cursor: None | str
        cursor = self.cursor

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "data": data,
                "has_more": has_more,
                "cursor": cursor,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.listed_project import ListedProject  # noqa: PLC0415

        d = dict(src_dict)
        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = ListedProject.from_dict(data_item_data)

            data.append(data_item)

        has_more = d.pop("has_more")

        def _parse_cursor(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        cursor = _parse_cursor(d.pop("cursor"))

        project_list = cls(
            data=data,
            has_more=has_more,
            cursor=cursor,
        )

        project_list.additional_properties = d
        return project_list

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
