from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.message import Message


T = TypeVar("T", bound="ChatHistory")


@_attrs_define
class ChatHistory:
    """
    Attributes:
        id (str):
        user_id (None | str):
        agent_id (None | str):
        session_id (None | str):
        title (None | str):
        created_at (datetime.datetime): ISO 8601, UTC
        messages (list[Message]):
    """

    id: str
    user_id: None | str
    agent_id: None | str
    session_id: None | str
    title: None | str
    created_at: datetime.datetime
    messages: list[Message]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        user_id: None | str
        user_id = self.user_id

        agent_id: None | str
        agent_id = self.agent_id

        session_id: None | str
        session_id = self.session_id

        title: None | str
        title = self.title

        created_at = self.created_at.isoformat()

        messages = []
        for messages_item_data in self.messages:
            messages_item = messages_item_data.to_dict()
            messages.append(messages_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "userId": user_id,
                "agentId": agent_id,
                "sessionId": session_id,
                "title": title,
                "created_at": created_at,
                "messages": messages,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.message import Message  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        def _parse_user_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        user_id = _parse_user_id(d.pop("userId"))

        def _parse_agent_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        agent_id = _parse_agent_id(d.pop("agentId"))

        def _parse_session_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        session_id = _parse_session_id(d.pop("sessionId"))

        def _parse_title(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        title = _parse_title(d.pop("title"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        messages = []
        _messages = d.pop("messages")
        for messages_item_data in _messages:
            messages_item = Message.from_dict(messages_item_data)

            messages.append(messages_item)

        chat_history = cls(
            id=id,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            title=title,
            created_at=created_at,
            messages=messages,
        )

        chat_history.additional_properties = d
        return chat_history

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
