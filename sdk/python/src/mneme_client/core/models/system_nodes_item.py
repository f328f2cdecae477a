from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.system_nodes_item_state import SystemNodesItemState, check_system_nodes_item_state

T = TypeVar("T", bound="SystemNodesItem")


@_attrs_define
class SystemNodesItem:
    """
    Attributes:
        id (str):
        name (str): of the machine
        role (str):
        version (str):
        state (SystemNodesItemState):
        started_at (datetime.datetime): ISO 8601, UTC
        seen_at (datetime.datetime): ISO 8601, UTC
    """

    id: str
    name: str
    role: str
    version: str
    state: SystemNodesItemState
    started_at: datetime.datetime
    seen_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        role = self.role

        version = self.version

        state: str = self.state

        started_at = self.started_at.isoformat()

        seen_at = self.seen_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "role": role,
                "version": version,
                "state": state,
                "started_at": started_at,
                "seen_at": seen_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        role = d.pop("role")

        version = d.pop("version")

        state = check_system_nodes_item_state(d.pop("state"))

        started_at = datetime.datetime.fromisoformat(d.pop("started_at").replace("Z", "+00:00"))

        seen_at = datetime.datetime.fromisoformat(d.pop("seen_at").replace("Z", "+00:00"))

        system_nodes_item = cls(
            id=id,
            name=name,
            role=role,
            version=version,
            state=state,
            started_at=started_at,
            seen_at=seen_at,
        )

        system_nodes_item.additional_properties = d
        return system_nodes_item

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
