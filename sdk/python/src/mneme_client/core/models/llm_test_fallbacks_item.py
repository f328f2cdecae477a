from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.llm_test_fallbacks_item_provider import (
    LlmTestFallbacksItemProvider,
    check_llm_test_fallbacks_item_provider,
)

T = TypeVar("T", bound="LlmTestFallbacksItem")


@_attrs_define
class LlmTestFallbacksItem:
    """
    Attributes:
        ok (bool):
        provider (LlmTestFallbacksItemProvider):
        model (None | str): null: none is configured
        ms (int): duration of the call in milliseconds
        message (str): one sentence: that the model answered, or why it did not
    """

    ok: bool
    provider: LlmTestFallbacksItemProvider
    model: None | str
    ms: int
    message: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ok = self.ok

        provider: str = self.provider

        model: None | str
        model = self.model

        ms = self.ms

        message = self.message

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ok": ok,
                "provider": provider,
                "model": model,
                "ms": ms,
                "message": message,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        ok = d.pop("ok")

        provider = check_llm_test_fallbacks_item_provider(d.pop("provider"))

        def _parse_model(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        model = _parse_model(d.pop("model"))

        ms = d.pop("ms")

        message = d.pop("message")

        llm_test_fallbacks_item = cls(
            ok=ok,
            provider=provider,
            model=model,
            ms=ms,
            message=message,
        )

        llm_test_fallbacks_item.additional_properties = d
        return llm_test_fallbacks_item

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
