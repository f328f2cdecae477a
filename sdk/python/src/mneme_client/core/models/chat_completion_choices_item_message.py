from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.chat_completion_choices_item_message_annotations_item import (
        ChatCompletionChoicesItemMessageAnnotationsItem,
    )


T = TypeVar("T", bound="ChatCompletionChoicesItemMessage")


@_attrs_define
class ChatCompletionChoicesItemMessage:
    """
    Attributes:
        role (Literal['assistant']):
        content (str):
        refusal (None):
        annotations (list[ChatCompletionChoicesItemMessageAnnotationsItem]):
    """

    role: Literal["assistant"]
    content: str
    refusal: None
    annotations: list[ChatCompletionChoicesItemMessageAnnotationsItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        role = self.role

        content = self.content

        refusal = self.refusal

        annotations = []
        for annotations_item_data in self.annotations:
            annotations_item = annotations_item_data.to_dict()
            annotations.append(annotations_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "role": role,
                "content": content,
                "refusal": refusal,
                "annotations": annotations,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_completion_choices_item_message_annotations_item import (
            ChatCompletionChoicesItemMessageAnnotationsItem,  # noqa: PLC0415
        )

        d = dict(src_dict)
        role = cast("Literal['assistant']", d.pop("role"))
        if role != "assistant":
            raise ValueError(f"role must match const 'assistant', got '{role}'")

        content = d.pop("content")

        refusal = d.pop("refusal")

        annotations = []
        _annotations = d.pop("annotations")
        for annotations_item_data in _annotations:
            annotations_item = ChatCompletionChoicesItemMessageAnnotationsItem.from_dict(annotations_item_data)

            annotations.append(annotations_item)

        chat_completion_choices_item_message = cls(
            role=role,
            content=content,
            refusal=refusal,
            annotations=annotations,
        )

        chat_completion_choices_item_message.additional_properties = d
        return chat_completion_choices_item_message

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
