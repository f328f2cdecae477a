from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.chat_completion_chunk_choices_item import ChatCompletionChunkChoicesItem
    from ..models.chat_completion_chunk_mneme import ChatCompletionChunkMneme
    from ..models.chat_completion_chunk_usage import ChatCompletionChunkUsage


T = TypeVar("T", bound="ChatCompletionChunk")


@_attrs_define
class ChatCompletionChunk:
    """
    Attributes:
        id (str): the id of the completion
        created (int): Unix seconds
        model (str):
        object_ (Literal['chat.completion.chunk']):
        choices (list[ChatCompletionChunkChoicesItem]):
        usage (ChatCompletionChunkUsage | None | Unset):
        mneme (ChatCompletionChunkMneme | Unset):
    """

    id: str
    created: int
    model: str
    object_: Literal["chat.completion.chunk"]
    choices: list[ChatCompletionChunkChoicesItem]
    usage: ChatCompletionChunkUsage | None | Unset = UNSET
    mneme: ChatCompletionChunkMneme | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.chat_completion_chunk_usage import ChatCompletionChunkUsage  # noqa: PLC0415

        id = self.id

        created = self.created

        model = self.model

        object_ = self.object_

        choices = []
        for choices_item_data in self.choices:
            choices_item = choices_item_data.to_dict()
            choices.append(choices_item)

        usage: dict[str, Any] | None | Unset
        if isinstance(self.usage, Unset):
            usage = UNSET
        elif isinstance(self.usage, ChatCompletionChunkUsage):
            usage = self.usage.to_dict()
        else:
            usage = self.usage

        mneme: dict[str, Any] | Unset = UNSET
        if not isinstance(self.mneme, Unset):
            mneme = self.mneme.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "created": created,
                "model": model,
                "object": object_,
                "choices": choices,
            }
        )
        if usage is not UNSET:
            field_dict["usage"] = usage
        if mneme is not UNSET:
            field_dict["mneme"] = mneme

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_completion_chunk_choices_item import ChatCompletionChunkChoicesItem  # noqa: PLC0415
        from ..models.chat_completion_chunk_mneme import ChatCompletionChunkMneme  # noqa: PLC0415
        from ..models.chat_completion_chunk_usage import ChatCompletionChunkUsage  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        created = d.pop("created")

        model = d.pop("model")

        object_ = cast("Literal['chat.completion.chunk']", d.pop("object"))
        if object_ != "chat.completion.chunk":
            raise ValueError(f"object must match const 'chat.completion.chunk', got '{object_}'")

        choices = []
        _choices = d.pop("choices")
        for choices_item_data in _choices:
            choices_item = ChatCompletionChunkChoicesItem.from_dict(choices_item_data)

            choices.append(choices_item)

        def _parse_usage(data: object) -> ChatCompletionChunkUsage | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                usage_type_0 = ChatCompletionChunkUsage.from_dict(data)

                return usage_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("ChatCompletionChunkUsage | None | Unset", data)

        usage = _parse_usage(d.pop("usage", UNSET))

        _mneme = d.pop("mneme", UNSET)
        mneme: ChatCompletionChunkMneme | Unset
        if isinstance(_mneme, Unset):
            mneme = UNSET
        else:
            mneme = ChatCompletionChunkMneme.from_dict(_mneme)

        chat_completion_chunk = cls(
            id=id,
            created=created,
            model=model,
            object_=object_,
            choices=choices,
            usage=usage,
            mneme=mneme,
        )

        chat_completion_chunk.additional_properties = d
        return chat_completion_chunk

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
