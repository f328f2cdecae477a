from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.chat_completion_choices_item_finish_reason import (
    ChatCompletionChoicesItemFinishReason,
    check_chat_completion_choices_item_finish_reason,
)

if TYPE_CHECKING:
    from ..models.chat_completion_choices_item_message import ChatCompletionChoicesItemMessage


T = TypeVar("T", bound="ChatCompletionChoicesItem")


@_attrs_define
class ChatCompletionChoicesItem:
    """
    Attributes:
        index (int):
        message (ChatCompletionChoicesItemMessage):
        logprobs (None):
        finish_reason (ChatCompletionChoicesItemFinishReason):
    """

    index: int
    message: ChatCompletionChoicesItemMessage
    logprobs: None
    finish_reason: ChatCompletionChoicesItemFinishReason
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        index = self.index

        message = self.message.to_dict()

        logprobs = self.logprobs

        finish_reason: str = self.finish_reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "index": index,
                "message": message,
                "logprobs": logprobs,
                "finish_reason": finish_reason,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_completion_choices_item_message import ChatCompletionChoicesItemMessage  # noqa: PLC0415

        d = dict(src_dict)
        index = d.pop("index")

        message = ChatCompletionChoicesItemMessage.from_dict(d.pop("message"))

        logprobs = d.pop("logprobs")

        finish_reason = check_chat_completion_choices_item_finish_reason(d.pop("finish_reason"))

        chat_completion_choices_item = cls(
            index=index,
            message=message,
            logprobs=logprobs,
            finish_reason=finish_reason,
        )

        chat_completion_choices_item.additional_properties = d
        return chat_completion_choices_item

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
