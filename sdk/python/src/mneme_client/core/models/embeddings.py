from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.embeddings_data_item import EmbeddingsDataItem
    from ..models.embeddings_usage import EmbeddingsUsage


T = TypeVar("T", bound="Embeddings")


@_attrs_define
class Embeddings:
    """
    Attributes:
        object_ (Literal['list']):
        data (list[EmbeddingsDataItem]):
        model (str):
        usage (EmbeddingsUsage):
    """

    object_: Literal["list"]
    data: list[EmbeddingsDataItem]
    model: str
    usage: EmbeddingsUsage
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        object_ = self.object_

        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        model = self.model

        usage = self.usage.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "object": object_,
                "data": data,
                "model": model,
                "usage": usage,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.embeddings_data_item import EmbeddingsDataItem  # noqa: PLC0415
        from ..models.embeddings_usage import EmbeddingsUsage  # noqa: PLC0415

        d = dict(src_dict)
        object_ = cast("Literal['list']", d.pop("object"))
        if object_ != "list":
            raise ValueError(f"object must match const 'list', got '{object_}'")

        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = EmbeddingsDataItem.from_dict(data_item_data)

            data.append(data_item)

        model = d.pop("model")

        usage = EmbeddingsUsage.from_dict(d.pop("usage"))

        embeddings = cls(
            object_=object_,
            data=data,
            model=model,
            usage=usage,
        )

        embeddings.additional_properties = d
        return embeddings

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
