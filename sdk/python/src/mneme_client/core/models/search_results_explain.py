from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.search_results_explain_calibration import (
    SearchResultsExplainCalibration,
    check_search_results_explain_calibration,
)
from ..models.search_results_explain_mode import SearchResultsExplainMode, check_search_results_explain_mode
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.search_results_explain_stages_item import SearchResultsExplainStagesItem
    from ..models.search_results_explain_time import SearchResultsExplainTime


T = TypeVar("T", bound="SearchResultsExplain")


@_attrs_define
class SearchResultsExplain:
    """
    Attributes:
        mode (SearchResultsExplainMode): signals of the search, fastest mode first: `fast` vectors; `hybrid` vectors and
            full text; `balanced` also the reranker; `precise` also the graph; default: the project's `default_mode`, which
            is `balanced` unless it is set
        stages (list[SearchResultsExplainStagesItem]):
        admissible (int): memories that the key, the user and the filters admit
        as_of (datetime.datetime): ISO 8601, UTC
        evidence (float | None): probability that one of the passages found answers the question; null if there are
            none. `min_evidence` is compared with it
        calibration (SearchResultsExplainCalibration): where the curves of the scores come from; `none`: they are no
            probabilities
        uncalibrated (bool | Unset): true: the models have no curves, so scores are no probabilities
        degraded (Literal['embedder_unavailable'] | Unset): why only words were searched for: the server of the remote
            embedding model does not answer
        time (SearchResultsExplainTime | Unset): the time that the query names, end exclusive; passages of this time
            gain score
    """

    mode: SearchResultsExplainMode
    stages: list[SearchResultsExplainStagesItem]
    admissible: int
    as_of: datetime.datetime
    evidence: float | None
    calibration: SearchResultsExplainCalibration
    uncalibrated: bool | Unset = UNSET
    degraded: Literal["embedder_unavailable"] | Unset = UNSET
    time: SearchResultsExplainTime | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        mode: str = self.mode

        stages = []
        for stages_item_data in self.stages:
            stages_item = stages_item_data.to_dict()
            stages.append(stages_item)

        admissible = self.admissible

        as_of = self.as_of.isoformat()

        evidence: float | None
        evidence = self.evidence

        calibration: str = self.calibration

        uncalibrated = self.uncalibrated

        degraded = self.degraded

        time: dict[str, Any] | Unset = UNSET
        if not isinstance(self.time, Unset):
            time = self.time.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "mode": mode,
                "stages": stages,
                "admissible": admissible,
                "asOf": as_of,
                "evidence": evidence,
                "calibration": calibration,
            }
        )
        if uncalibrated is not UNSET:
            field_dict["uncalibrated"] = uncalibrated
        if degraded is not UNSET:
            field_dict["degraded"] = degraded
        if time is not UNSET:
            field_dict["time"] = time

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.search_results_explain_stages_item import SearchResultsExplainStagesItem  # noqa: PLC0415
        from ..models.search_results_explain_time import SearchResultsExplainTime  # noqa: PLC0415

        d = dict(src_dict)
        mode = check_search_results_explain_mode(d.pop("mode"))

        stages = []
        _stages = d.pop("stages")
        for stages_item_data in _stages:
            stages_item = SearchResultsExplainStagesItem.from_dict(stages_item_data)

            stages.append(stages_item)

        admissible = d.pop("admissible")

        as_of = datetime.datetime.fromisoformat(d.pop("asOf").replace("Z", "+00:00"))

        def _parse_evidence(data: object) -> float | None:
            if data is None:
                return data
            return cast("float | None", data)

        evidence = _parse_evidence(d.pop("evidence"))

        calibration = check_search_results_explain_calibration(d.pop("calibration"))

        uncalibrated = d.pop("uncalibrated", UNSET)

        degraded = cast("Literal['embedder_unavailable'] | Unset", d.pop("degraded", UNSET))
        if degraded != "embedder_unavailable" and not isinstance(degraded, Unset):
            raise ValueError(f"degraded must match const 'embedder_unavailable', got '{degraded}'")

        _time = d.pop("time", UNSET)
        time: SearchResultsExplainTime | Unset
        if isinstance(_time, Unset):
            time = UNSET
        else:
            time = SearchResultsExplainTime.from_dict(_time)

        search_results_explain = cls(
            mode=mode,
            stages=stages,
            admissible=admissible,
            as_of=as_of,
            evidence=evidence,
            calibration=calibration,
            uncalibrated=uncalibrated,
            degraded=degraded,
            time=time,
        )

        search_results_explain.additional_properties = d
        return search_results_explain

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
