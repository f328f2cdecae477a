from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.case_run_modes_type_0_item import CaseRunModesType0Item, check_case_run_modes_type_0_item
from ..models.case_run_status import CaseRunStatus, check_case_run_status
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.case_run_error import CaseRunError
    from ..models.case_run_results_item import CaseRunResultsItem
    from ..models.case_run_setup_type_0 import CaseRunSetupType0


T = TypeVar("T", bound="CaseRun")


@_attrs_define
class CaseRun:
    """
    Attributes:
        id (str): run_…
        modes (list[CaseRunModesType0Item] | None):
        setup (CaseRunSetupType0 | None): models and settings when the run began; null: an earlier version began it
        status (CaseRunStatus):
        done (int): searches that are done
        skipped (int): of these, searches for cases whose expected memories were all deleted
        total (int): cases multiplied by modes
        created_at (datetime.datetime): ISO 8601, UTC
        updated_at (datetime.datetime): ISO 8601, UTC
        error (CaseRunError | Unset):
        results (list[CaseRunResultsItem] | Unset): when it is completed
    """

    id: str
    modes: list[CaseRunModesType0Item] | None
    setup: CaseRunSetupType0 | None
    status: CaseRunStatus
    done: int
    skipped: int
    total: int
    created_at: datetime.datetime
    updated_at: datetime.datetime
    error: CaseRunError | Unset = UNSET
    results: list[CaseRunResultsItem] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.case_run_setup_type_0 import CaseRunSetupType0  # noqa: PLC0415

        id = self.id

        modes: list[str] | None
        if isinstance(self.modes, list):
            modes = []
            for modes_type_0_item_data in self.modes:
                modes_type_0_item: str = modes_type_0_item_data
                modes.append(modes_type_0_item)

        else:
            modes = self.modes

        setup: dict[str, Any] | None
        if isinstance(self.setup, CaseRunSetupType0):
            setup = self.setup.to_dict()
        else:
            setup = self.setup

        status: str = self.status

        done = self.done

        skipped = self.skipped

        total = self.total

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.error, Unset):
            error = self.error.to_dict()

        results: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.results, Unset):
            results = []
            for results_item_data in self.results:
                results_item = results_item_data.to_dict()
                results.append(results_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "modes": modes,
                "setup": setup,
                "status": status,
                "done": done,
                "skipped": skipped,
                "total": total,
                "created_at": created_at,
                "updated_at": updated_at,
            }
        )
        if error is not UNSET:
            field_dict["error"] = error
        if results is not UNSET:
            field_dict["results"] = results

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.case_run_error import CaseRunError  # noqa: PLC0415
        from ..models.case_run_results_item import CaseRunResultsItem  # noqa: PLC0415
        from ..models.case_run_setup_type_0 import CaseRunSetupType0  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        def _parse_modes(data: object) -> list[CaseRunModesType0Item] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                modes_type_0 = []
                _modes_type_0 = data
                for modes_type_0_item_data in _modes_type_0:
                    modes_type_0_item = check_case_run_modes_type_0_item(modes_type_0_item_data)

                    modes_type_0.append(modes_type_0_item)

                return modes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("list[CaseRunModesType0Item] | None", data)

        modes = _parse_modes(d.pop("modes"))

        def _parse_setup(data: object) -> CaseRunSetupType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                setup_type_0 = CaseRunSetupType0.from_dict(data)

                return setup_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("CaseRunSetupType0 | None", data)

        setup = _parse_setup(d.pop("setup"))

        status = check_case_run_status(d.pop("status"))

        done = d.pop("done")

        skipped = d.pop("skipped")

        total = d.pop("total")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at").replace("Z", "+00:00"))

        _error = d.pop("error", UNSET)
        error: CaseRunError | Unset
        if isinstance(_error, Unset):
            error = UNSET
        else:
            error = CaseRunError.from_dict(_error)

        _results = d.pop("results", UNSET)
        results: list[CaseRunResultsItem] | Unset = UNSET
        if _results is not UNSET:
            results = []
            for results_item_data in _results:
                results_item = CaseRunResultsItem.from_dict(results_item_data)

                results.append(results_item)

        case_run = cls(
            id=id,
            modes=modes,
            setup=setup,
            status=status,
            done=done,
            skipped=skipped,
            total=total,
            created_at=created_at,
            updated_at=updated_at,
            error=error,
            results=results,
        )

        case_run.additional_properties = d
        return case_run

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
