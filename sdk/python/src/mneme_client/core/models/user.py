from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.user_metadata import UserMetadata


T = TypeVar("T", bound="User")


@_attrs_define
class User:
    """
    Attributes:
        id (str):
        name (None | str):
        email (None | str):
        metadata (UserMetadata):
        time_zone (None | str):
        created_at (datetime.datetime): ISO 8601, UTC
    """

    id: str
    name: None | str
    email: None | str
    metadata: UserMetadata
    time_zone: None | str
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name: None | str
        name = self.name

        email: None | str
        email = self.email

        metadata = self.metadata.to_dict()

        time_zone: None | str
        time_zone = self.time_zone

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "email": email,
                "metadata": metadata,
                "time_zone": time_zone,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.user_metadata import UserMetadata  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        def _parse_name(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        name = _parse_name(d.pop("name"))

        def _parse_email(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        email = _parse_email(d.pop("email"))

        metadata = UserMetadata.from_dict(d.pop("metadata"))

        def _parse_time_zone(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        time_zone = _parse_time_zone(d.pop("time_zone"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        user = cls(
            id=id,
            name=name,
            email=email,
            metadata=metadata,
            time_zone=time_zone,
            created_at=created_at,
        )

        user.additional_properties = d
        return user

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
