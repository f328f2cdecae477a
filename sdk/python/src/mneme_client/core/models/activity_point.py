from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.activity_point_p50_ms import ActivityPointP50Ms
    from ..models.activity_point_p95_ms import ActivityPointP95Ms
    from ..models.activity_point_searches import ActivityPointSearches


T = TypeVar("T", bound="ActivityPoint")


@_attrs_define
class ActivityPoint:
    """
    Attributes:
        at (datetime.datetime): begin of the step
        stored (int): memories that were completed
        deleted (int): memories that were deleted or have expired
        failed (int): memories that failed
        queue (int): highest number of memories in status `processing`, looked up every minute
        answered (int): answers in this state, as the two below
        partial (int):
        not_found (int):
        searches (ActivityPointSearches): searches by mode; those of answers do not count
        p50_ms (ActivityPointP50Ms): median of their durations, to about 5 %
        p95_ms (ActivityPointP95Ms): 95th percentile
    """

    at: datetime.datetime
    stored: int
    deleted: int
    failed: int
    queue: int
    answered: int
    partial: int
    not_found: int
    searches: ActivityPointSearches
    p50_ms: ActivityPointP50Ms
    p95_ms: ActivityPointP95Ms
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        at = self.at.isoformat()

        stored = self.stored

        deleted = self.deleted

        failed = self.failed

        queue = self.queue

        answered = self.answered

        partial = self.partial

        not_found = self.not_found

        searches = self.searches.to_dict()

        p50_ms = self.p50_ms.to_dict()

        p95_ms = self.p95_ms.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "at": at,
                "stored": stored,
                "deleted": deleted,
                "failed": failed,
                "queue": queue,
                "answered": answered,
                "partial": partial,
                "not_found": not_found,
                "searches": searches,
                "p50_ms": p50_ms,
                "p95_ms": p95_ms,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.activity_point_p50_ms import ActivityPointP50Ms  # noqa: PLC0415
        from ..models.activity_point_p95_ms import ActivityPointP95Ms  # noqa: PLC0415
        from ..models.activity_point_searches import ActivityPointSearches  # noqa: PLC0415

        d = dict(src_dict)
        at = datetime.datetime.fromisoformat(d.pop("at").replace("Z", "+00:00"))

        stored = d.pop("stored")

        deleted = d.pop("deleted")

        failed = d.pop("failed")

        queue = d.pop("queue")

        answered = d.pop("answered")

        partial = d.pop("partial")

        not_found = d.pop("not_found")

        searches = ActivityPointSearches.from_dict(d.pop("searches"))

        p50_ms = ActivityPointP50Ms.from_dict(d.pop("p50_ms"))

        p95_ms = ActivityPointP95Ms.from_dict(d.pop("p95_ms"))

        activity_point = cls(
            at=at,
            stored=stored,
            deleted=deleted,
            failed=failed,
            queue=queue,
            answered=answered,
            partial=partial,
            not_found=not_found,
            searches=searches,
            p50_ms=p50_ms,
            p95_ms=p95_ms,
        )

        activity_point.additional_properties = d
        return activity_point

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
