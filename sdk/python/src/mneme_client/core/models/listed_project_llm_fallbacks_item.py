from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.listed_project_llm_fallbacks_item_provider import (
    ListedProjectLlmFallbacksItemProvider,
    check_listed_project_llm_fallbacks_item_provider,
)

T = TypeVar("T", bound="ListedProjectLlmFallbacksItem")


@_attrs_define
class ListedProjectLlmFallbacksItem:
    """
    Attributes:
        provider (ListedProjectLlmFallbacksItemProvider):
        base_url (None | str):
        model (None | str):
        temperature (float | None):
        max_output_tokens (int | None):
        monthly_token_limit (int | None):
    """

    provider: ListedProjectLlmFallbacksItemProvider
    base_url: None | str
    model: None | str
    temperature: float | None
    max_output_tokens: int | None
    monthly_token_limit: int | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        provider: str = self.provider

        base_url: None | str
        base_url = self.base_url

        model: None | str
        model = self.model

        temperature: float | None
        temperature = self.temperature

        max_output_tokens: int | None
        max_output_tokens = self.max_output_tokens

        monthly_token_limit: int | None
        monthly_token_limit = self.monthly_token_limit

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "provider": provider,
                "base_url": base_url,
                "model": model,
                "temperature": temperature,
                "max_output_tokens": max_output_tokens,
                "monthly_token_limit": monthly_token_limit,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        provider = check_listed_project_llm_fallbacks_item_provider(d.pop("provider"))

        def _parse_base_url(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        base_url = _parse_base_url(d.pop("base_url"))

        def _parse_model(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        model = _parse_model(d.pop("model"))

        def _parse_temperature(data: object) -> float | None:
            if data is None:
                return data
            return cast("float | None", data)

        temperature = _parse_temperature(d.pop("temperature"))

        def _parse_max_output_tokens(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        max_output_tokens = _parse_max_output_tokens(d.pop("max_output_tokens"))

        def _parse_monthly_token_limit(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        monthly_token_limit = _parse_monthly_token_limit(d.pop("monthly_token_limit"))

        listed_project_llm_fallbacks_item = cls(
            provider=provider,
            base_url=base_url,
            model=model,
            temperature=temperature,
            max_output_tokens=max_output_tokens,
            monthly_token_limit=monthly_token_limit,
        )

        listed_project_llm_fallbacks_item.additional_properties = d
        return listed_project_llm_fallbacks_item

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
