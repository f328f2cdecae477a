from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.activity_step import ActivityStep, check_activity_step

if TYPE_CHECKING:
    from ..models.activity_point import ActivityPoint


T = TypeVar("T", bound="Activity")


@_attrs_define
class Activity:
    """
    Attributes:
        step (ActivityStep):
        data (list[ActivityPoint]): oldest first
    """

    step: ActivityStep
    data: list[ActivityPoint]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        step: str = self.step

        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "step": step,
                "data": data,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.activity_point import ActivityPoint  # noqa: PLC0415

        d = dict(src_dict)
        step = check_activity_step(d.pop("step"))

        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = ActivityPoint.from_dict(data_item_data)

            data.append(data_item)

        activity = cls(
            step=step,
            data=data,
        )

        activity.additional_properties = d
        return activity

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
