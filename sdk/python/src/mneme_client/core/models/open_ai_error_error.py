from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.open_ai_error_error_code import OpenAiErrorErrorCode, check_open_ai_error_error_code
from ..models.open_ai_error_error_type import OpenAiErrorErrorType, check_open_ai_error_error_type
from ..types import UNSET, Unset

T = TypeVar("T", bound="OpenAiErrorError")


@_attrs_define
class OpenAiErrorError:
    """
    Attributes:
        message (str): what is wrong, and what would be right
        type_ (OpenAiErrorErrorType):
        param (None | str): the field that is wrong
        code (OpenAiErrorErrorCode): see the table of error codes
        retry_after_seconds (int | Unset):
    """

    message: str
    type_: OpenAiErrorErrorType
    param: None | str
    code: OpenAiErrorErrorCode
    retry_after_seconds: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        message = self.message

        type_: str = self.type_

        param: None | str
        param = self.param

        code: str = self.code

        retry_after_seconds = self.retry_after_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "message": message,
                "type": type_,
                "param": param,
                "code": code,
            }
        )
        if retry_after_seconds is not UNSET:
            field_dict["retry_after_seconds"] = retry_after_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        message = d.pop("message")

        type_ = check_open_ai_error_error_type(d.pop("type"))

        def _parse_param(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        param = _parse_param(d.pop("param"))

        code = check_open_ai_error_error_code(d.pop("code"))

        retry_after_seconds = d.pop("retry_after_seconds", UNSET)

        open_ai_error_error = cls(
            message=message,
            type_=type_,
            param=param,
            code=code,
            retry_after_seconds=retry_after_seconds,
        )

        open_ai_error_error.additional_properties = d
        return open_ai_error_error

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
