from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.case_run_results_item_mode import CaseRunResultsItemMode, check_case_run_results_item_mode

T = TypeVar("T", bound="CaseRunResultsItem")


@_attrs_define
class CaseRunResultsItem:
    """
    Attributes:
        mode (CaseRunResultsItemMode):
        cases (int): cases that were measured
        ndcg10 (float | None): mean nDCG@10 of the cases with `memory_ids`, 0 to 1
        right_first (float | None): share of these cases whose first result is an expected memory
        refused_right (float | None): share of the cases with `not_found` whose question would not be answered
    """

    mode: CaseRunResultsItemMode
    cases: int
    ndcg10: float | None
    right_first: float | None
    refused_right: float | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        mode: str = self.mode

        cases = self.cases

        ndcg10: float | None
        ndcg10 = self.ndcg10

        right_first: float | None
        right_first = self.right_first

        refused_right: float | None
        refused_right = self.refused_right

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "mode": mode,
                "cases": cases,
                "ndcg10": ndcg10,
                "right_first": right_first,
                "refused_right": refused_right,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        mode = check_case_run_results_item_mode(d.pop("mode"))

        cases = d.pop("cases")

        def _parse_ndcg10(data: object) -> float | None:
            if data is None:
                return data
            return cast("float | None", data)

        ndcg10 = _parse_ndcg10(d.pop("ndcg10"))

        def _parse_right_first(data: object) -> float | None:
            if data is None:
                return data
            return cast("float | None", data)

        right_first = _parse_right_first(d.pop("right_first"))

        def _parse_refused_right(data: object) -> float | None:
            if data is None:
                return data
            return cast("float | None", data)

        refused_right = _parse_refused_right(d.pop("refused_right"))

        case_run_results_item = cls(
            mode=mode,
            cases=cases,
            ndcg10=ndcg10,
            right_first=right_first,
            refused_right=refused_right,
        )

        case_run_results_item.additional_properties = d
        return case_run_results_item

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
