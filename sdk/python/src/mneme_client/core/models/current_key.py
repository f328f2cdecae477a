from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.current_key_allowed_scopes_item import CurrentKeyAllowedScopesItem, check_current_key_allowed_scopes_item
from ..models.current_key_scopes_item import CurrentKeyScopesItem, check_current_key_scopes_item

if TYPE_CHECKING:
    from ..models.current_key_project import CurrentKeyProject


T = TypeVar("T", bound="CurrentKey")


@_attrs_define
class CurrentKey:
    """
    Attributes:
        id (str): key_…
        project_id (str):
        name (str):
        scopes (list[CurrentKeyScopesItem]):
        user_id (None | str): the only user whose data the key can access; null: all users
        expires_at (datetime.datetime | None): ISO 8601, UTC
        last_used_at (datetime.datetime | None): ISO 8601, UTC
        last_client (None | str): what used the key last: the first product of the `User-Agent`, such as `curl/8.9.1`
        created_at (datetime.datetime): ISO 8601, UTC
        redacted (str): first and last characters of the secret
        allowed_scopes (list[CurrentKeyAllowedScopesItem]): all that the key may do: its scopes, and those that they
            include
        project (CurrentKeyProject): the project of the key
    """

    id: str
    project_id: str
    name: str
    scopes: list[CurrentKeyScopesItem]
    user_id: None | str
    expires_at: datetime.datetime | None
    last_used_at: datetime.datetime | None
    last_client: None | str
    created_at: datetime.datetime
    redacted: str
    allowed_scopes: list[CurrentKeyAllowedScopesItem]
    project: CurrentKeyProject
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        project_id = self.project_id

        name = self.name

        scopes = []
        for scopes_item_data in self.scopes:
            scopes_item: str = scopes_item_data
            scopes.append(scopes_item)

        user_id: None | str
        user_id = self.user_id

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        last_used_at: None | str
        if isinstance(self.last_used_at, datetime.datetime):
            last_used_at = self.last_used_at.isoformat()
        else:
            last_used_at = self.last_used_at

        last_client: None | str
        last_client = self.last_client

        created_at = self.created_at.isoformat()

        redacted = self.redacted

        allowed_scopes = []
        for allowed_scopes_item_data in self.allowed_scopes:
            allowed_scopes_item: str = allowed_scopes_item_data
            allowed_scopes.append(allowed_scopes_item)

        project = self.project.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "projectId": project_id,
                "name": name,
                "scopes": scopes,
                "userId": user_id,
                "expires_at": expires_at,
                "last_used_at": last_used_at,
                "last_client": last_client,
                "created_at": created_at,
                "redacted": redacted,
                "allowed_scopes": allowed_scopes,
                "project": project,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.current_key_project import CurrentKeyProject  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        project_id = d.pop("projectId")

        name = d.pop("name")

        scopes = []
        _scopes = d.pop("scopes")
        for scopes_item_data in _scopes:
            scopes_item = check_current_key_scopes_item(scopes_item_data)

            scopes.append(scopes_item)

        def _parse_user_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        user_id = _parse_user_id(d.pop("userId"))

        def _parse_expires_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        expires_at = _parse_expires_at(d.pop("expires_at"))

        def _parse_last_used_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_used_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return last_used_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        last_used_at = _parse_last_used_at(d.pop("last_used_at"))

        def _parse_last_client(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        last_client = _parse_last_client(d.pop("last_client"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        redacted = d.pop("redacted")

        allowed_scopes = []
        _allowed_scopes = d.pop("allowed_scopes")
        for allowed_scopes_item_data in _allowed_scopes:
            allowed_scopes_item = check_current_key_allowed_scopes_item(allowed_scopes_item_data)

            allowed_scopes.append(allowed_scopes_item)

        project = CurrentKeyProject.from_dict(d.pop("project"))

        current_key = cls(
            id=id,
            project_id=project_id,
            name=name,
            scopes=scopes,
            user_id=user_id,
            expires_at=expires_at,
            last_used_at=last_used_at,
            last_client=last_client,
            created_at=created_at,
            redacted=redacted,
            allowed_scopes=allowed_scopes,
            project=project,
        )

        current_key.additional_properties = d
        return current_key

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
