from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.chat_completion_choices_item import ChatCompletionChoicesItem
    from ..models.chat_completion_mneme import ChatCompletionMneme
    from ..models.chat_completion_usage import ChatCompletionUsage


T = TypeVar("T", bound="ChatCompletion")


@_attrs_define
class ChatCompletion:
    """
    Attributes:
        id (str): the id of the completion
        created (int): Unix seconds
        model (str):
        object_ (Literal['chat.completion']):
        choices (list[ChatCompletionChoicesItem]):
        usage (ChatCompletionUsage):
        mneme (ChatCompletionMneme):
    """

    id: str
    created: int
    model: str
    object_: Literal["chat.completion"]
    choices: list[ChatCompletionChoicesItem]
    usage: ChatCompletionUsage
    mneme: ChatCompletionMneme
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        created = self.created

        model = self.model

        object_ = self.object_

        choices = []
        for choices_item_data in self.choices:
            choices_item = choices_item_data.to_dict()
            choices.append(choices_item)

        usage = self.usage.to_dict()

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
                "usage": usage,
                "mneme": mneme,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_completion_choices_item import ChatCompletionChoicesItem  # noqa: PLC0415
        from ..models.chat_completion_mneme import ChatCompletionMneme  # noqa: PLC0415
        from ..models.chat_completion_usage import ChatCompletionUsage  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        created = d.pop("created")

        model = d.pop("model")

        object_ = cast("Literal['chat.completion']", d.pop("object"))
        if object_ != "chat.completion":
            raise ValueError(f"object must match const 'chat.completion', got '{object_}'")

        choices = []
        _choices = d.pop("choices")
        for choices_item_data in _choices:
            choices_item = ChatCompletionChoicesItem.from_dict(choices_item_data)

            choices.append(choices_item)

        usage = ChatCompletionUsage.from_dict(d.pop("usage"))

        mneme = ChatCompletionMneme.from_dict(d.pop("mneme"))

        chat_completion = cls(
            id=id,
            created=created,
            model=model,
            object_=object_,
            choices=choices,
            usage=usage,
            mneme=mneme,
        )

        chat_completion.additional_properties = d
        return chat_completion

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
