from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.batch_result_data_item_type_0_outcome import (
    BatchResultDataItemType0Outcome,
    check_batch_result_data_item_type_0_outcome,
)

if TYPE_CHECKING:
    from ..models.memory import Memory


T = TypeVar("T", bound="BatchResultDataItemType0")


@_attrs_define
class BatchResultDataItemType0:
    """
    Attributes:
        index (int):
        outcome (BatchResultDataItemType0Outcome): a known `externalId` makes it `rewritten` with new content, `updated`
            with new attributes only, and `unchanged` if the memory has all of them already
        memory (Memory):
    """

    index: int
    outcome: BatchResultDataItemType0Outcome
    memory: Memory
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        index = self.index

        outcome: str = self.outcome

        memory = self.memory.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "index": index,
                "outcome": outcome,
                "memory": memory,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.memory import Memory  # noqa: PLC0415

        d = dict(src_dict)
        index = d.pop("index")

        outcome = check_batch_result_data_item_type_0_outcome(d.pop("outcome"))

        memory = Memory.from_dict(d.pop("memory"))

        batch_result_data_item_type_0 = cls(
            index=index,
            outcome=outcome,
            memory=memory,
        )

        batch_result_data_item_type_0.additional_properties = d
        return batch_result_data_item_type_0

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
