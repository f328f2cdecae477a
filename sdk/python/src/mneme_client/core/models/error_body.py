from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.error_body_code import ErrorBodyCode, check_error_body_code
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.error_body_items_item import ErrorBodyItemsItem


T = TypeVar("T", bound="ErrorBody")


@_attrs_define
class ErrorBody:
    """
    Attributes:
        code (ErrorBodyCode): see the table of error codes
        message (str): what is wrong, and what would be right
        status (int): the HTTP status
        param (str | Unset): the field, query parameter or header that is wrong
        request_id (str | Unset):
        retry_after_seconds (int | Unset):
        items (list[ErrorBodyItemsItem] | Unset):
    """

    code: ErrorBodyCode
    message: str
    status: int
    param: str | Unset = UNSET
    request_id: str | Unset = UNSET
    retry_after_seconds: int | Unset = UNSET
    items: list[ErrorBodyItemsItem] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        code: str = self.code

        message = self.message

        status = self.status

        param = self.param

        request_id = self.request_id

        retry_after_seconds = self.retry_after_seconds

        items: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.items, Unset):
            items = []
            for items_item_data in self.items:
                items_item = items_item_data.to_dict()
                items.append(items_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "code": code,
                "message": message,
                "status": status,
            }
        )
        if param is not UNSET:
            field_dict["param"] = param
        if request_id is not UNSET:
            field_dict["request_id"] = request_id
        if retry_after_seconds is not UNSET:
            field_dict["retry_after_seconds"] = retry_after_seconds
        if items is not UNSET:
            field_dict["items"] = items

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.error_body_items_item import ErrorBodyItemsItem  # noqa: PLC0415

        d = dict(src_dict)
        code = check_error_body_code(d.pop("code"))

        message = d.pop("message")

        status = d.pop("status")

        param = d.pop("param", UNSET)

        request_id = d.pop("request_id", UNSET)

        retry_after_seconds = d.pop("retry_after_seconds", UNSET)

        _items = d.pop("items", UNSET)
        items: list[ErrorBodyItemsItem] | Unset = UNSET
        if _items is not UNSET:
            items = []
            for items_item_data in _items:
                items_item = ErrorBodyItemsItem.from_dict(items_item_data)

                items.append(items_item)

        error_body = cls(
            code=code,
            message=message,
            status=status,
            param=param,
            request_id=request_id,
            retry_after_seconds=retry_after_seconds,
            items=items,
        )

        error_body.additional_properties = d
        return error_body

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
