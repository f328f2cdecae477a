from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.chat_completion_chunk_choices_item_finish_reason_type_0 import (
    ChatCompletionChunkChoicesItemFinishReasonType0,
    check_chat_completion_chunk_choices_item_finish_reason_type_0,
)

if TYPE_CHECKING:
    from ..models.chat_completion_chunk_choices_item_delta import ChatCompletionChunkChoicesItemDelta


T = TypeVar("T", bound="ChatCompletionChunkChoicesItem")


@_attrs_define
class ChatCompletionChunkChoicesItem:
    """
    Attributes:
        index (int):
        delta (ChatCompletionChunkChoicesItemDelta):
        logprobs (None):
        finish_reason (ChatCompletionChunkChoicesItemFinishReasonType0 | None):
    """

    index: int
    delta: ChatCompletionChunkChoicesItemDelta
    logprobs: None
    finish_reason: ChatCompletionChunkChoicesItemFinishReasonType0 | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        index = self.index

        delta = self.delta.to_dict()

        logprobs = self.logprobs

        finish_reason: None | str
        if isinstance(self.finish_reason, str):
            finish_reason = self.finish_reason
        else:
            finish_reason = self.finish_reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "index": index,
                "delta": delta,
                "logprobs": logprobs,
                "finish_reason": finish_reason,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_completion_chunk_choices_item_delta import ChatCompletionChunkChoicesItemDelta  # noqa: PLC0415

        d = dict(src_dict)
        index = d.pop("index")

        delta = ChatCompletionChunkChoicesItemDelta.from_dict(d.pop("delta"))

        logprobs = d.pop("logprobs")

        def _parse_finish_reason(data: object) -> ChatCompletionChunkChoicesItemFinishReasonType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                finish_reason_type_0 = check_chat_completion_chunk_choices_item_finish_reason_type_0(data)

                return finish_reason_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("ChatCompletionChunkChoicesItemFinishReasonType0 | None", data)

        finish_reason = _parse_finish_reason(d.pop("finish_reason"))

        chat_completion_chunk_choices_item = cls(
            index=index,
            delta=delta,
            logprobs=logprobs,
            finish_reason=finish_reason,
        )

        chat_completion_chunk_choices_item.additional_properties = d
        return chat_completion_chunk_choices_item

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
