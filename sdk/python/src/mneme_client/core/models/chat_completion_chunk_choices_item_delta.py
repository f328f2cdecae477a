from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.chat_completion_chunk_choices_item_delta_annotations_item import (
        ChatCompletionChunkChoicesItemDeltaAnnotationsItem,
    )


T = TypeVar("T", bound="ChatCompletionChunkChoicesItemDelta")


@_attrs_define
class ChatCompletionChunkChoicesItemDelta:
    """
    Attributes:
        role (Literal['assistant'] | Unset):
        content (str | Unset):
        annotations (list[ChatCompletionChunkChoicesItemDeltaAnnotationsItem] | Unset):
    """

    role: Literal["assistant"] | Unset = UNSET
    content: str | Unset = UNSET
    annotations: list[ChatCompletionChunkChoicesItemDeltaAnnotationsItem] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        role = self.role

        content = self.content

        annotations: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.annotations, Unset):
            annotations = []
            for annotations_item_data in self.annotations:
                annotations_item = annotations_item_data.to_dict()
                annotations.append(annotations_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if role is not UNSET:
            field_dict["role"] = role
        if content is not UNSET:
            field_dict["content"] = content
        if annotations is not UNSET:
            field_dict["annotations"] = annotations

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_completion_chunk_choices_item_delta_annotations_item import (
            ChatCompletionChunkChoicesItemDeltaAnnotationsItem,  # noqa: PLC0415
        )

        d = dict(src_dict)
        role = cast("Literal['assistant'] | Unset", d.pop("role", UNSET))
        if role != "assistant" and not isinstance(role, Unset):
            raise ValueError(f"role must match const 'assistant', got '{role}'")

        content = d.pop("content", UNSET)

        _annotations = d.pop("annotations", UNSET)
        annotations: list[ChatCompletionChunkChoicesItemDeltaAnnotationsItem] | Unset = UNSET
        if _annotations is not UNSET:
            annotations = []
            for annotations_item_data in _annotations:
                annotations_item = ChatCompletionChunkChoicesItemDeltaAnnotationsItem.from_dict(annotations_item_data)

                annotations.append(annotations_item)

        chat_completion_chunk_choices_item_delta = cls(
            role=role,
            content=content,
            annotations=annotations,
        )

        chat_completion_chunk_choices_item_delta.additional_properties = d
        return chat_completion_chunk_choices_item_delta

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
