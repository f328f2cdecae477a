from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ResultMemory")


@_attrs_define
class ResultMemory:
    """other attributes of the memory

    Attributes:
        title (None | str):
        type_ (None | str):
        tags (list[str] | None):
        user_id (None | str):
        language (None | str):
        created_at (datetime.datetime): ISO 8601, UTC
        agent_id (None | str | Unset):
        session_id (None | str | Unset):
        updated_at (datetime.datetime | Unset): ISO 8601, UTC
        occurred_at (datetime.datetime | None | Unset): ISO 8601, UTC
        superseded_by (None | str | Unset):
    """

    title: None | str
    type_: None | str
    tags: list[str] | None
    user_id: None | str
    language: None | str
    created_at: datetime.datetime
    agent_id: None | str | Unset = UNSET
    session_id: None | str | Unset = UNSET
    updated_at: datetime.datetime | Unset = UNSET
    occurred_at: datetime.datetime | None | Unset = UNSET
    superseded_by: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        title: None | str
        title = self.title

        type_: None | str
        type_ = self.type_

        tags: list[str] | None
        if isinstance(self.tags, list):
            tags = self.tags

        else:
            tags = self.tags

        user_id: None | str
        user_id = self.user_id

        language: None | str
        language = self.language

        created_at = self.created_at.isoformat()

        agent_id: None | str | Unset
        if isinstance(self.agent_id, Unset):
            agent_id = UNSET
        else:
            agent_id = self.agent_id

        session_id: None | str | Unset
        if isinstance(self.session_id, Unset):
            session_id = UNSET
        else:
            session_id = self.session_id

        updated_at: str | Unset = UNSET
        if not isinstance(self.updated_at, Unset):
            updated_at = self.updated_at.isoformat()

        occurred_at: None | str | Unset
        if isinstance(self.occurred_at, Unset):
            occurred_at = UNSET
        elif isinstance(self.occurred_at, datetime.datetime):
            occurred_at = self.occurred_at.isoformat()
        else:
            occurred_at = self.occurred_at

        superseded_by: None | str | Unset
        if isinstance(self.superseded_by, Unset):
            superseded_by = UNSET
        else:
            superseded_by = self.superseded_by

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "title": title,
                "type": type_,
                "tags": tags,
                "userId": user_id,
                "language": language,
                "created_at": created_at,
            }
        )
        if agent_id is not UNSET:
            field_dict["agentId"] = agent_id
        if session_id is not UNSET:
            field_dict["sessionId"] = session_id
        if updated_at is not UNSET:
            field_dict["updated_at"] = updated_at
        if occurred_at is not UNSET:
            field_dict["occurred_at"] = occurred_at
        if superseded_by is not UNSET:
            field_dict["superseded_by"] = superseded_by

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_title(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        title = _parse_title(d.pop("title"))

        def _parse_type_(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        type_ = _parse_type_(d.pop("type"))

        def _parse_tags(data: object) -> list[str] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                tags_type_0 = cast("list[str]", data)

                return tags_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("list[str] | None", data)

        tags = _parse_tags(d.pop("tags"))

        def _parse_user_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        user_id = _parse_user_id(d.pop("userId"))

        def _parse_language(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        language = _parse_language(d.pop("language"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        def _parse_agent_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast("None | str | Unset", data)

        agent_id = _parse_agent_id(d.pop("agentId", UNSET))

        def _parse_session_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast("None | str | Unset", data)

        session_id = _parse_session_id(d.pop("sessionId", UNSET))

        _updated_at = d.pop("updated_at", UNSET)
        updated_at: datetime.datetime | Unset
        if isinstance(_updated_at, Unset):
            updated_at = UNSET
        else:
            updated_at = datetime.datetime.fromisoformat(_updated_at.replace("Z", "+00:00"))

        def _parse_occurred_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                occurred_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return occurred_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None | Unset", data)

        occurred_at = _parse_occurred_at(d.pop("occurred_at", UNSET))

        def _parse_superseded_by(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast("None | str | Unset", data)

        superseded_by = _parse_superseded_by(d.pop("superseded_by", UNSET))

        result_memory = cls(
            title=title,
            type_=type_,
            tags=tags,
            user_id=user_id,
            language=language,
            created_at=created_at,
            agent_id=agent_id,
            session_id=session_id,
            updated_at=updated_at,
            occurred_at=occurred_at,
            superseded_by=superseded_by,
        )

        result_memory.additional_properties = d
        return result_memory

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
