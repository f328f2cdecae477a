from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.message_answer_state_type_0 import MessageAnswerStateType0, check_message_answer_state_type_0
from ..models.message_role import MessageRole, check_message_role
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.search_result import SearchResult


T = TypeVar("T", bound="Message")


@_attrs_define
class Message:
    """
    Attributes:
        id (str): msg_…
        role (MessageRole):
        content (str):
        sources (list[SearchResult]):
        created_at (datetime.datetime): ISO 8601, UTC
        answer_state (MessageAnswerStateType0 | None | Unset): as in answers to queries; null for the user's messages,
            interrupted and older ones
        interrupted (bool | Unset): the caller hung up before the answer was complete
        failure (str | Unset): why this message of the user got no answer
    """

    id: str
    role: MessageRole
    content: str
    sources: list[SearchResult]
    created_at: datetime.datetime
    answer_state: MessageAnswerStateType0 | None | Unset = UNSET
    interrupted: bool | Unset = UNSET
    failure: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        role: str = self.role

        content = self.content

        sources = []
        for sources_item_data in self.sources:
            sources_item = sources_item_data.to_dict()
            sources.append(sources_item)

        created_at = self.created_at.isoformat()

        answer_state: None | str | Unset
        if isinstance(self.answer_state, Unset):
            answer_state = UNSET
        elif isinstance(self.answer_state, str):
            answer_state = self.answer_state
        else:
            answer_state = self.answer_state

        interrupted = self.interrupted

        failure = self.failure

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "role": role,
                "content": content,
                "sources": sources,
                "created_at": created_at,
            }
        )
        if answer_state is not UNSET:
            field_dict["answer_state"] = answer_state
        if interrupted is not UNSET:
            field_dict["interrupted"] = interrupted
        if failure is not UNSET:
            field_dict["failure"] = failure

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.search_result import SearchResult  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        role = check_message_role(d.pop("role"))

        content = d.pop("content")

        sources = []
        _sources = d.pop("sources")
        for sources_item_data in _sources:
            sources_item = SearchResult.from_dict(sources_item_data)

            sources.append(sources_item)

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        def _parse_answer_state(data: object) -> MessageAnswerStateType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                answer_state_type_0 = check_message_answer_state_type_0(data)

                return answer_state_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("MessageAnswerStateType0 | None | Unset", data)

        answer_state = _parse_answer_state(d.pop("answer_state", UNSET))

        interrupted = d.pop("interrupted", UNSET)

        failure = d.pop("failure", UNSET)

        message = cls(
            id=id,
            role=role,
            content=content,
            sources=sources,
            created_at=created_at,
            answer_state=answer_state,
            interrupted=interrupted,
            failure=failure,
        )

        message.additional_properties = d
        return message

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
