from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.batch_result_data_item_type_0 import BatchResultDataItemType0
    from ..models.batch_result_data_item_type_1 import BatchResultDataItemType1


T = TypeVar("T", bound="BatchResult")


@_attrs_define
class BatchResult:
    """
    Attributes:
        data (list[BatchResultDataItemType0 | BatchResultDataItemType1]):
        accepted (int):
        failed (int):
    """

    data: list[BatchResultDataItemType0 | BatchResultDataItemType1]
    accepted: int
    failed: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.batch_result_data_item_type_0 import BatchResultDataItemType0  # noqa: PLC0415

        data = []
        for data_item_data in self.data:
            data_item: dict[str, Any]
            if isinstance(data_item_data, BatchResultDataItemType0):
                data_item = data_item_data.to_dict()
            else:
                data_item = data_item_data.to_dict()

            data.append(data_item)

        accepted = self.accepted

        failed = self.failed

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "data": data,
                "accepted": accepted,
                "failed": failed,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.batch_result_data_item_type_0 import BatchResultDataItemType0  # noqa: PLC0415
        from ..models.batch_result_data_item_type_1 import BatchResultDataItemType1  # noqa: PLC0415

        d = dict(src_dict)
        data = []
        _data = d.pop("data")
        for data_item_data in _data:

            def _parse_data_item(data: object) -> BatchResultDataItemType0 | BatchResultDataItemType1:
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    data_item_type_0 = BatchResultDataItemType0.from_dict(data)

                    return data_item_type_0
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                if not isinstance(data, dict):
                    raise TypeError()
                data_item_type_1 = BatchResultDataItemType1.from_dict(data)

                return data_item_type_1

            data_item = _parse_data_item(data_item_data)

            data.append(data_item)

        accepted = d.pop("accepted")

        failed = d.pop("failed")

        batch_result = cls(
            data=data,
            accepted=accepted,
            failed=failed,
        )

        batch_result.additional_properties = d
        return batch_result

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
