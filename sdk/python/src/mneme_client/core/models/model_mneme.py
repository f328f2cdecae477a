from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.model_mneme_task import ModelMnemeTask, check_model_mneme_task

T = TypeVar("T", bound="ModelMneme")


@_attrs_define
class ModelMneme:
    """
    Attributes:
        task (ModelMnemeTask):
        dimensions (int | None): of an embedding model
        tokens_max (int | None): tokens that an embedding model reads of a text
    """

    task: ModelMnemeTask
    dimensions: int | None
    tokens_max: int | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        task: str = self.task

        dimensions: int | None
        dimensions = self.dimensions

        tokens_max: int | None
        tokens_max = self.tokens_max

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "task": task,
                "dimensions": dimensions,
                "tokens_max": tokens_max,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        task = check_model_mneme_task(d.pop("task"))

        def _parse_dimensions(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        dimensions = _parse_dimensions(d.pop("dimensions"))

        def _parse_tokens_max(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        tokens_max = _parse_tokens_max(d.pop("tokens_max"))

        model_mneme = cls(
            task=task,
            dimensions=dimensions,
            tokens_max=tokens_max,
        )

        model_mneme.additional_properties = d
        return model_mneme

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
