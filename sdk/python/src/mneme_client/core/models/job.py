from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.job_status import JobStatus, check_job_status
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.job_error import JobError


T = TypeVar("T", bound="Job")


@_attrs_define
class Job:
    """
    Attributes:
        id (str): job_…
        status (JobStatus):
        matched (int): memories that matched when the job was accepted
        deleted (int): memories deleted so far, with the parts of containers: absent from every answer
        created_at (datetime.datetime): ISO 8601, UTC
        updated_at (datetime.datetime): ISO 8601, UTC
        error (JobError | Unset): present when failed
    """

    id: str
    status: JobStatus
    matched: int
    deleted: int
    created_at: datetime.datetime
    updated_at: datetime.datetime
    error: JobError | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        status: str = self.status

        matched = self.matched

        deleted = self.deleted

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.error, Unset):
            error = self.error.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "status": status,
                "matched": matched,
                "deleted": deleted,
                "created_at": created_at,
                "updated_at": updated_at,
            }
        )
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_error import JobError  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        status = check_job_status(d.pop("status"))

        matched = d.pop("matched")

        deleted = d.pop("deleted")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at").replace("Z", "+00:00"))

        _error = d.pop("error", UNSET)
        error: JobError | Unset
        if isinstance(_error, Unset):
            error = UNSET
        else:
            error = JobError.from_dict(_error)

        job = cls(
            id=id,
            status=status,
            matched=matched,
            deleted=deleted,
            created_at=created_at,
            updated_at=updated_at,
            error=error,
        )

        job.additional_properties = d
        return job

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
