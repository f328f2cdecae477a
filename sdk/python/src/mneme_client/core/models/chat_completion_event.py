from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.chat_completion_chunk import ChatCompletionChunk
    from ..models.open_ai_error import OpenAiError


T = TypeVar("T", bound="ChatCompletionEvent")


@_attrs_define
class ChatCompletionEvent:
    """one Server-Sent Event without a name: any number of chunks, then `[DONE]`, which is not JSON; after a failure an
    error instead of the remaining ones

        Attributes:
            data (ChatCompletionChunk | Literal['[DONE]'] | OpenAiError):
    """

    data: ChatCompletionChunk | Literal["[DONE]"] | OpenAiError
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.chat_completion_chunk import ChatCompletionChunk  # noqa: PLC0415
        from ..models.open_ai_error import OpenAiError  # noqa: PLC0415

        data: dict[str, Any] | Literal["[DONE]"]
        if isinstance(self.data, ChatCompletionChunk):
            data = self.data.to_dict()
        elif isinstance(self.data, OpenAiError):
            data = self.data.to_dict()
        else:
            data = self.data

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "data": data,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_completion_chunk import ChatCompletionChunk  # noqa: PLC0415
        from ..models.open_ai_error import OpenAiError  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_data(data: object) -> ChatCompletionChunk | Literal["[DONE]"] | OpenAiError:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                data_type_0 = ChatCompletionChunk.from_dict(data)

                return data_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            data_type_1 = cast("Literal['[DONE]']", data)
            if data_type_1 != "[DONE]":
                raise ValueError(f"data_type_1 must match const '[DONE]', got '{data_type_1}'")
            return data_type_1
            if not isinstance(data, dict):
                raise TypeError()
            data_type_2 = OpenAiError.from_dict(data)

            return data_type_2

        data = _parse_data(d.pop("data"))

        chat_completion_event = cls(
            data=data,
        )

        chat_completion_event.additional_properties = d
        return chat_completion_event

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
