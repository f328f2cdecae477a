from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.installed_model_calibration_job_type_0_state import (
    InstalledModelCalibrationJobType0State,
    check_installed_model_calibration_job_type_0_state,
)

T = TypeVar("T", bound="InstalledModelCalibrationJobType0")


@_attrs_define
class InstalledModelCalibrationJobType0:
    """a calibration that is not finished; null: there is none

    Attributes:
        state (InstalledModelCalibrationJobType0State):
        project_id (None | str): project whose texts are used besides
        done (int): searches that were made
        total (int | None): all searches; null until it is known
        error (None | str): why it failed, or waits for another attempt
    """

    state: InstalledModelCalibrationJobType0State
    project_id: None | str
    done: int
    total: int | None
    error: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        state: str = self.state

        project_id: None | str
        project_id = self.project_id

        done = self.done

        total: int | None
        total = self.total

        error: None | str
        error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "state": state,
                "projectId": project_id,
                "done": done,
                "total": total,
                "error": error,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        state = check_installed_model_calibration_job_type_0_state(d.pop("state"))

        def _parse_project_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        project_id = _parse_project_id(d.pop("projectId"))

        done = d.pop("done")

        def _parse_total(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        total = _parse_total(d.pop("total"))

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        error = _parse_error(d.pop("error"))

        installed_model_calibration_job_type_0 = cls(
            state=state,
            project_id=project_id,
            done=done,
            total=total,
            error=error,
        )

        installed_model_calibration_job_type_0.additional_properties = d
        return installed_model_calibration_job_type_0

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
