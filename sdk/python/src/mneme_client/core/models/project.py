from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.project_default_mode import ProjectDefaultMode, check_project_default_mode
from ..models.project_ocr import ProjectOcr, check_project_ocr
from ..models.project_plan import ProjectPlan, check_project_plan
from ..models.project_superseding import ProjectSuperseding, check_project_superseding
from ..models.project_vector_index import ProjectVectorIndex, check_project_vector_index

if TYPE_CHECKING:
    from ..models.project_llm import ProjectLlm
    from ..models.project_smart_ingestion import ProjectSmartIngestion


T = TypeVar("T", bound="Project")


@_attrs_define
class Project:
    """
    Attributes:
        id (str): prj_…
        name (str):
        plan (ProjectPlan):
        llm (ProjectLlm):
        smart_ingestion (ProjectSmartIngestion):
        retention_days (int):
        min_evidence (float): the number in force: that of the project, or the default of its embedding model for
            default_mode
        default_mode (ProjectDefaultMode):
        superseding (ProjectSuperseding):
        ocr (ProjectOcr):
        time_zone (None | str):
        keep_files (bool):
        vector_index (ProjectVectorIndex):
        reranker (None | str): id of the reranker that was chosen; null: the one that belongs to its embedding model
        created_at (datetime.datetime): ISO 8601, UTC
    """

    id: str
    name: str
    plan: ProjectPlan
    llm: ProjectLlm
    smart_ingestion: ProjectSmartIngestion
    retention_days: int
    min_evidence: float
    default_mode: ProjectDefaultMode
    superseding: ProjectSuperseding
    ocr: ProjectOcr
    time_zone: None | str
    keep_files: bool
    vector_index: ProjectVectorIndex
    reranker: None | str
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        plan: str = self.plan

        llm = self.llm.to_dict()

        smart_ingestion = self.smart_ingestion.to_dict()

        retention_days = self.retention_days

        min_evidence = self.min_evidence

        default_mode: str = self.default_mode

        superseding: str = self.superseding

        ocr: str = self.ocr

        time_zone: None | str
        time_zone = self.time_zone

        keep_files = self.keep_files

        vector_index: str = self.vector_index

        reranker: None | str
        reranker = self.reranker

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "plan": plan,
                "llm": llm,
                "smart_ingestion": smart_ingestion,
                "retention_days": retention_days,
                "min_evidence": min_evidence,
                "default_mode": default_mode,
                "superseding": superseding,
                "ocr": ocr,
                "time_zone": time_zone,
                "keep_files": keep_files,
                "vector_index": vector_index,
                "reranker": reranker,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.project_llm import ProjectLlm  # noqa: PLC0415
        from ..models.project_smart_ingestion import ProjectSmartIngestion  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        plan = check_project_plan(d.pop("plan"))

        llm = ProjectLlm.from_dict(d.pop("llm"))

        smart_ingestion = ProjectSmartIngestion.from_dict(d.pop("smart_ingestion"))

        retention_days = d.pop("retention_days")

        min_evidence = d.pop("min_evidence")

        default_mode = check_project_default_mode(d.pop("default_mode"))

        superseding = check_project_superseding(d.pop("superseding"))

        ocr = check_project_ocr(d.pop("ocr"))

        def _parse_time_zone(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        time_zone = _parse_time_zone(d.pop("time_zone"))

        keep_files = d.pop("keep_files")

        vector_index = check_project_vector_index(d.pop("vector_index"))

        def _parse_reranker(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        reranker = _parse_reranker(d.pop("reranker"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        project = cls(
            id=id,
            name=name,
            plan=plan,
            llm=llm,
            smart_ingestion=smart_ingestion,
            retention_days=retention_days,
            min_evidence=min_evidence,
            default_mode=default_mode,
            superseding=superseding,
            ocr=ocr,
            time_zone=time_zone,
            keep_files=keep_files,
            vector_index=vector_index,
            reranker=reranker,
            created_at=created_at,
        )

        project.additional_properties = d
        return project

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
