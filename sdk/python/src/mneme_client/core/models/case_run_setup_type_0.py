from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.case_run_setup_type_0_default_mode import (
    CaseRunSetupType0DefaultMode,
    check_case_run_setup_type_0_default_mode,
)
from ..models.case_run_setup_type_0_superseding import (
    CaseRunSetupType0Superseding,
    check_case_run_setup_type_0_superseding,
)

T = TypeVar("T", bound="CaseRunSetupType0")


@_attrs_define
class CaseRunSetupType0:
    """models and settings when the run began; null: an earlier version began it

    Attributes:
        embedder (str): id of the embedding model
        reranker (None | str): id of the reranker that was chosen; null: the one that belongs to its embedding model
        default_mode (CaseRunSetupType0DefaultMode):
        min_evidence (float):
        superseding (CaseRunSetupType0Superseding):
    """

    embedder: str
    reranker: None | str
    default_mode: CaseRunSetupType0DefaultMode
    min_evidence: float
    superseding: CaseRunSetupType0Superseding
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        embedder = self.embedder

        reranker: None | str
        reranker = self.reranker

        default_mode: str = self.default_mode

        min_evidence = self.min_evidence

        superseding: str = self.superseding

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "embedder": embedder,
                "reranker": reranker,
                "default_mode": default_mode,
                "min_evidence": min_evidence,
                "superseding": superseding,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        embedder = d.pop("embedder")

        def _parse_reranker(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        reranker = _parse_reranker(d.pop("reranker"))

        default_mode = check_case_run_setup_type_0_default_mode(d.pop("default_mode"))

        min_evidence = d.pop("min_evidence")

        superseding = check_case_run_setup_type_0_superseding(d.pop("superseding"))

        case_run_setup_type_0 = cls(
            embedder=embedder,
            reranker=reranker,
            default_mode=default_mode,
            min_evidence=min_evidence,
            superseding=superseding,
        )

        case_run_setup_type_0.additional_properties = d
        return case_run_setup_type_0

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
