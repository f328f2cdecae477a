from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.current_key_project_plan import CurrentKeyProjectPlan, check_current_key_project_plan

T = TypeVar("T", bound="CurrentKeyProject")


@_attrs_define
class CurrentKeyProject:
    """the project of the key

    Attributes:
        id (str): prj_…
        name (str):
        plan (CurrentKeyProjectPlan):
    """

    id: str
    name: str
    plan: CurrentKeyProjectPlan
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        plan: str = self.plan

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "plan": plan,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        plan = check_current_key_project_plan(d.pop("plan"))

        current_key_project = cls(
            id=id,
            name=name,
            plan=plan,
        )

        current_key_project.additional_properties = d
        return current_key_project

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
