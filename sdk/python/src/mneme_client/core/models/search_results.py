from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.search_result import SearchResult
    from ..models.search_results_explain import SearchResultsExplain


T = TypeVar("T", bound="SearchResults")


@_attrs_define
class SearchResults:
    """
    Attributes:
        results (list[SearchResult]):
        total_results (int):
        explain (SearchResultsExplain | Unset):
    """

    results: list[SearchResult]
    total_results: int
    explain: SearchResultsExplain | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        results = []
        for results_item_data in self.results:
            results_item = results_item_data.to_dict()
            results.append(results_item)

        total_results = self.total_results

        explain: dict[str, Any] | Unset = UNSET
        if not isinstance(self.explain, Unset):
            explain = self.explain.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "results": results,
                "total_results": total_results,
            }
        )
        if explain is not UNSET:
            field_dict["explain"] = explain

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.search_result import SearchResult  # noqa: PLC0415
        from ..models.search_results_explain import SearchResultsExplain  # noqa: PLC0415

        d = dict(src_dict)
        results = []
        _results = d.pop("results")
        for results_item_data in _results:
            results_item = SearchResult.from_dict(results_item_data)

            results.append(results_item)

        total_results = d.pop("total_results")

        _explain = d.pop("explain", UNSET)
        explain: SearchResultsExplain | Unset
        if isinstance(_explain, Unset):
            explain = UNSET
        else:
            explain = SearchResultsExplain.from_dict(_explain)

        search_results = cls(
            results=results,
            total_results=total_results,
            explain=explain,
        )

        search_results.additional_properties = d
        return search_results

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
