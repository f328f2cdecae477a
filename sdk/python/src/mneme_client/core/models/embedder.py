from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Embedder")


@_attrs_define
class Embedder:
    """
    Attributes:
        id (str):
        dimensions (int):
        languages (list[str]): BCP 47
        is_default (bool): whether new projects get it
    """

    id: str
    dimensions: int
    languages: list[str]
    is_default: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        dimensions = self.dimensions

        languages = self.languages

        is_default = self.is_default

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "dimensions": dimensions,
                "languages": languages,
                "is_default": is_default,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        dimensions = d.pop("dimensions")

        languages = cast("list[str]", d.pop("languages"))

        is_default = d.pop("is_default")

        embedder = cls(
            id=id,
            dimensions=dimensions,
            languages=languages,
            is_default=is_default,
        )

        embedder.additional_properties = d
        return embedder

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
