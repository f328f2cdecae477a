from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="MapPoint")


@_attrs_define
class MapPoint:
    """
    Attributes:
        memory_id (str):
        x (float):
        y (float):
        type_ (None | str):
        user_id (None | str):
        created_at (datetime.datetime): ISO 8601, UTC
        is_superseded (bool):
    """

    memory_id: str
    x: float
    y: float
    type_: None | str
    user_id: None | str
    created_at: datetime.datetime
    is_superseded: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        memory_id = self.memory_id

        x = self.x

        y = self.y

        type_: None | str
        type_ = self.type_

        user_id: None | str
        user_id = self.user_id

        created_at = self.created_at.isoformat()

        is_superseded = self.is_superseded

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "memory_id": memory_id,
                "x": x,
                "y": y,
                "type": type_,
                "userId": user_id,
                "created_at": created_at,
                "is_superseded": is_superseded,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        memory_id = d.pop("memory_id")

        x = d.pop("x")

        y = d.pop("y")

        def _parse_type_(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        type_ = _parse_type_(d.pop("type"))

        def _parse_user_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        user_id = _parse_user_id(d.pop("userId"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        is_superseded = d.pop("is_superseded")

        map_point = cls(
            memory_id=memory_id,
            x=x,
            y=y,
            type_=type_,
            user_id=user_id,
            created_at=created_at,
            is_superseded=is_superseded,
        )

        map_point.additional_properties = d
        return map_point

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
