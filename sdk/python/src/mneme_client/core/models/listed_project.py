from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.listed_project_default_mode import ListedProjectDefaultMode, check_listed_project_default_mode
from ..models.listed_project_ocr import ListedProjectOcr, check_listed_project_ocr
from ..models.listed_project_plan import ListedProjectPlan, check_listed_project_plan
from ..models.listed_project_superseding import ListedProjectSuperseding, check_listed_project_superseding
from ..models.listed_project_vector_index import ListedProjectVectorIndex, check_listed_project_vector_index

if TYPE_CHECKING:
    from ..models.listed_project_llm import ListedProjectLlm
    from ..models.listed_project_smart_ingestion import ListedProjectSmartIngestion


T = TypeVar("T", bound="ListedProject")


@_attrs_define
class ListedProject:
    """
    Attributes:
        id (str): prj_…
        name (str):
        plan (ListedProjectPlan):
        llm (ListedProjectLlm):
        smart_ingestion (ListedProjectSmartIngestion):
        retention_days (int):
        min_evidence (float): the number in force: that of the project, or the default of its embedding model for
            default_mode
        default_mode (ListedProjectDefaultMode):
        superseding (ListedProjectSuperseding):
        ocr (ListedProjectOcr):
        time_zone (None | str):
        keep_files (bool):
        vector_index (ListedProjectVectorIndex):
        reranker (None | str): id of the reranker that was chosen; null: the one that belongs to its embedding model
        created_at (datetime.datetime): ISO 8601, UTC
        documents (int): memories that are not deleted
        storage_bytes (int): total size of their content in UTF-8 bytes
        last_used_at (datetime.datetime | None): when one of its keys was last used, up to a minute late; null: none was
            used that still exists
    """

    id: str
    name: str
    plan: ListedProjectPlan
    llm: ListedProjectLlm
    smart_ingestion: ListedProjectSmartIngestion
    retention_days: int
    min_evidence: float
    default_mode: ListedProjectDefaultMode
    superseding: ListedProjectSuperseding
    ocr: ListedProjectOcr
    time_zone: None | str
    keep_files: bool
    vector_index: ListedProjectVectorIndex
    reranker: None | str
    created_at: datetime.datetime
    documents: int
    storage_bytes: int
    last_used_at: datetime.datetime | None
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

        documents = self.documents

        storage_bytes = self.storage_bytes

        last_used_at: None | str
        if isinstance(self.last_used_at, datetime.datetime):
            last_used_at = self.last_used_at.isoformat()
        else:
            last_used_at = self.last_used_at

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
                "documents": documents,
                "storage_bytes": storage_bytes,
                "last_used_at": last_used_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.listed_project_llm import ListedProjectLlm  # noqa: PLC0415
        from ..models.listed_project_smart_ingestion import ListedProjectSmartIngestion  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        plan = check_listed_project_plan(d.pop("plan"))

        llm = ListedProjectLlm.from_dict(d.pop("llm"))

        smart_ingestion = ListedProjectSmartIngestion.from_dict(d.pop("smart_ingestion"))

        retention_days = d.pop("retention_days")

        min_evidence = d.pop("min_evidence")

        default_mode = check_listed_project_default_mode(d.pop("default_mode"))

        superseding = check_listed_project_superseding(d.pop("superseding"))

        ocr = check_listed_project_ocr(d.pop("ocr"))

        def _parse_time_zone(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        time_zone = _parse_time_zone(d.pop("time_zone"))

        keep_files = d.pop("keep_files")

        vector_index = check_listed_project_vector_index(d.pop("vector_index"))

        def _parse_reranker(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        reranker = _parse_reranker(d.pop("reranker"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        documents = d.pop("documents")

        storage_bytes = d.pop("storage_bytes")

        def _parse_last_used_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_used_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return last_used_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        last_used_at = _parse_last_used_at(d.pop("last_used_at"))

        listed_project = cls(
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
            documents=documents,
            storage_bytes=storage_bytes,
            last_used_at=last_used_at,
        )

        listed_project.additional_properties = d
        return listed_project

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
