from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.search_result_explain_signals import SearchResultExplainSignals


T = TypeVar("T", bound="SearchResultExplain")


@_attrs_define
class SearchResultExplain:
    """
    Attributes:
        signals (SearchResultExplainSignals):
        fused_rank (int):
        superseded_by (str | Unset): mem_… of the newest memory that supersedes this passage
    """

    signals: SearchResultExplainSignals
    fused_rank: int
    superseded_by: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        signals = self.signals.to_dict()

        fused_rank = self.fused_rank

        superseded_by = self.superseded_by

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "signals": signals,
                "fused_rank": fused_rank,
            }
        )
        if superseded_by is not UNSET:
            field_dict["superseded_by"] = superseded_by

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.search_result_explain_signals import SearchResultExplainSignals  # noqa: PLC0415

        d = dict(src_dict)
        signals = SearchResultExplainSignals.from_dict(d.pop("signals"))

        fused_rank = d.pop("fused_rank")

        superseded_by = d.pop("superseded_by", UNSET)

        search_result_explain = cls(
            signals=signals,
            fused_rank=fused_rank,
            superseded_by=superseded_by,
        )

        search_result_explain.additional_properties = d
        return search_result_explain

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
