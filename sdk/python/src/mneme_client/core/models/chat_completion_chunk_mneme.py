from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.chat_completion_chunk_mneme_answer_state import (
    ChatCompletionChunkMnemeAnswerState,
    check_chat_completion_chunk_mneme_answer_state,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.search_result import SearchResult


T = TypeVar("T", bound="ChatCompletionChunkMneme")


@_attrs_define
class ChatCompletionChunkMneme:
    """
    Attributes:
        sources (list[SearchResult]):
        answer_state (ChatCompletionChunkMnemeAnswerState | Unset): `partial`: nothing stored answers a part of the
            question, and the answer says which; `not_found`: nothing stored answers it, and `sources` has only what the
            answer cites
    """

    sources: list[SearchResult]
    answer_state: ChatCompletionChunkMnemeAnswerState | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        sources = []
        for sources_item_data in self.sources:
            sources_item = sources_item_data.to_dict()
            sources.append(sources_item)

        answer_state: str | Unset = UNSET
        if not isinstance(self.answer_state, Unset):
            answer_state = self.answer_state

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "sources": sources,
            }
        )
        if answer_state is not UNSET:
            field_dict["answer_state"] = answer_state

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.search_result import SearchResult  # noqa: PLC0415

        d = dict(src_dict)
        sources = []
        _sources = d.pop("sources")
        for sources_item_data in _sources:
            sources_item = SearchResult.from_dict(sources_item_data)

            sources.append(sources_item)

        _answer_state = d.pop("answer_state", UNSET)
        answer_state: ChatCompletionChunkMnemeAnswerState | Unset
        if isinstance(_answer_state, Unset):
            answer_state = UNSET
        else:
            answer_state = check_chat_completion_chunk_mneme_answer_state(_answer_state)

        chat_completion_chunk_mneme = cls(
            sources=sources,
            answer_state=answer_state,
        )

        chat_completion_chunk_mneme.additional_properties = d
        return chat_completion_chunk_mneme

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
