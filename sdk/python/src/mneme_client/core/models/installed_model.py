from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.installed_model_calibration import InstalledModelCalibration, check_installed_model_calibration
from ..models.installed_model_kind import InstalledModelKind, check_installed_model_kind
from ..models.installed_model_status import InstalledModelStatus, check_installed_model_status
from ..models.installed_model_task import InstalledModelTask, check_installed_model_task

if TYPE_CHECKING:
    from ..models.installed_model_calibration_job_type_0 import InstalledModelCalibrationJobType0
    from ..models.installed_model_progress_type_0 import InstalledModelProgressType0
    from ..models.installed_model_remote_type_0 import InstalledModelRemoteType0


T = TypeVar("T", bound="InstalledModel")


@_attrs_define
class InstalledModel:
    """
    Attributes:
        id (str):
        task (InstalledModelTask):
        kind (InstalledModelKind):
        dimensions (int | None): null for a reranker, and until it is known
        tokens_max (int | None): maximum number of tokens that it reads of a text
        languages (list[str]): BCP 47; empty: unknown
        licence (None | str): SPDX
        source (None | str): where its files came from
        remote (InstalledModelRemoteType0 | None): the endpoint
        status (InstalledModelStatus):
        progress (InstalledModelProgressType0 | None):
        error (None | str): why it cannot be used
        calibration (InstalledModelCalibration): where the curves of its scores come from; `none`: its scores are no
            probabilities
        calibration_job (InstalledModelCalibrationJobType0 | None): a calibration that is not finished; null: there is
            none
        used_by (list[str]): ids of projects
        created_at (datetime.datetime | None): ISO 8601, UTC
    """

    id: str
    task: InstalledModelTask
    kind: InstalledModelKind
    dimensions: int | None
    tokens_max: int | None
    languages: list[str]
    licence: None | str
    source: None | str
    remote: InstalledModelRemoteType0 | None
    status: InstalledModelStatus
    progress: InstalledModelProgressType0 | None
    error: None | str
    calibration: InstalledModelCalibration
    calibration_job: InstalledModelCalibrationJobType0 | None
    used_by: list[str]
    created_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.installed_model_calibration_job_type_0 import InstalledModelCalibrationJobType0  # noqa: PLC0415
        from ..models.installed_model_progress_type_0 import InstalledModelProgressType0  # noqa: PLC0415
        from ..models.installed_model_remote_type_0 import InstalledModelRemoteType0  # noqa: PLC0415

        id = self.id

        task: str = self.task

        kind: str = self.kind

        dimensions: int | None
        dimensions = self.dimensions

        tokens_max: int | None
        tokens_max = self.tokens_max

        languages = self.languages

        licence: None | str
        licence = self.licence

        source: None | str
        source = self.source

        remote: dict[str, Any] | None
        if isinstance(self.remote, InstalledModelRemoteType0):
            remote = self.remote.to_dict()
        else:
            remote = self.remote

        status: str = self.status

        progress: dict[str, Any] | None
        if isinstance(self.progress, InstalledModelProgressType0):
            progress = self.progress.to_dict()
        else:
            progress = self.progress

        error: None | str
        error = self.error

        calibration: str = self.calibration

        calibration_job: dict[str, Any] | None
        if isinstance(self.calibration_job, InstalledModelCalibrationJobType0):
            calibration_job = self.calibration_job.to_dict()
        else:
            calibration_job = self.calibration_job

        used_by = self.used_by

        created_at: None | str
        if isinstance(self.created_at, datetime.datetime):
            created_at = self.created_at.isoformat()
        else:
            created_at = self.created_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "task": task,
                "kind": kind,
                "dimensions": dimensions,
                "tokens_max": tokens_max,
                "languages": languages,
                "licence": licence,
                "source": source,
                "remote": remote,
                "status": status,
                "progress": progress,
                "error": error,
                "calibration": calibration,
                "calibration_job": calibration_job,
                "used_by": used_by,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.installed_model_calibration_job_type_0 import InstalledModelCalibrationJobType0  # noqa: PLC0415
        from ..models.installed_model_progress_type_0 import InstalledModelProgressType0  # noqa: PLC0415
        from ..models.installed_model_remote_type_0 import InstalledModelRemoteType0  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        task = check_installed_model_task(d.pop("task"))

        kind = check_installed_model_kind(d.pop("kind"))

        def _parse_dimensions(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        dimensions = _parse_dimensions(d.pop("dimensions"))

        def _parse_tokens_max(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        tokens_max = _parse_tokens_max(d.pop("tokens_max"))

        languages = cast("list[str]", d.pop("languages"))

        def _parse_licence(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        licence = _parse_licence(d.pop("licence"))

        def _parse_source(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        source = _parse_source(d.pop("source"))

        def _parse_remote(data: object) -> InstalledModelRemoteType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                remote_type_0 = InstalledModelRemoteType0.from_dict(data)

                return remote_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("InstalledModelRemoteType0 | None", data)

        remote = _parse_remote(d.pop("remote"))

        status = check_installed_model_status(d.pop("status"))

        def _parse_progress(data: object) -> InstalledModelProgressType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                progress_type_0 = InstalledModelProgressType0.from_dict(data)

                return progress_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("InstalledModelProgressType0 | None", data)

        progress = _parse_progress(d.pop("progress"))

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        error = _parse_error(d.pop("error"))

        calibration = check_installed_model_calibration(d.pop("calibration"))

        def _parse_calibration_job(data: object) -> InstalledModelCalibrationJobType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                calibration_job_type_0 = InstalledModelCalibrationJobType0.from_dict(data)

                return calibration_job_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("InstalledModelCalibrationJobType0 | None", data)

        calibration_job = _parse_calibration_job(d.pop("calibration_job"))

        used_by = cast("list[str]", d.pop("used_by"))

        def _parse_created_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                created_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return created_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        created_at = _parse_created_at(d.pop("created_at"))

        installed_model = cls(
            id=id,
            task=task,
            kind=kind,
            dimensions=dimensions,
            tokens_max=tokens_max,
            languages=languages,
            licence=licence,
            source=source,
            remote=remote,
            status=status,
            progress=progress,
            error=error,
            calibration=calibration,
            calibration_job=calibration_job,
            used_by=used_by,
            created_at=created_at,
        )

        installed_model.additional_properties = d
        return installed_model

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
