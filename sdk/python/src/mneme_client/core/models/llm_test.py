from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.llm_test_provider import LlmTestProvider, check_llm_test_provider

if TYPE_CHECKING:
    from ..models.llm_test_fallbacks_item import LlmTestFallbacksItem


T = TypeVar("T", bound="LlmTest")


@_attrs_define
class LlmTest:
    """
    Attributes:
        ok (bool):
        provider (LlmTestProvider):
        model (None | str): null: none is configured
        ms (int): duration of the call in milliseconds
        message (str): one sentence: that the model answered, or why it did not
        fallbacks (list[LlmTestFallbacksItem]):
    """

    ok: bool
    provider: LlmTestProvider
    model: None | str
    ms: int
    message: str
    fallbacks: list[LlmTestFallbacksItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ok = self.ok

        provider: str = self.provider

        model: None | str
        model = self.model

        ms = self.ms

        message = self.message

        fallbacks = []
        for fallbacks_item_data in self.fallbacks:
            fallbacks_item = fallbacks_item_data.to_dict()
            fallbacks.append(fallbacks_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ok": ok,
                "provider": provider,
                "model": model,
                "ms": ms,
                "message": message,
                "fallbacks": fallbacks,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.llm_test_fallbacks_item import LlmTestFallbacksItem  # noqa: PLC0415

        d = dict(src_dict)
        ok = d.pop("ok")

        provider = check_llm_test_provider(d.pop("provider"))

        def _parse_model(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        model = _parse_model(d.pop("model"))

        ms = d.pop("ms")

        message = d.pop("message")

        fallbacks = []
        _fallbacks = d.pop("fallbacks")
        for fallbacks_item_data in _fallbacks:
            fallbacks_item = LlmTestFallbacksItem.from_dict(fallbacks_item_data)

            fallbacks.append(fallbacks_item)

        llm_test = cls(
            ok=ok,
            provider=provider,
            model=model,
            ms=ms,
            message=message,
            fallbacks=fallbacks,
        )

        llm_test.additional_properties = d
        return llm_test

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
