from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.memory_map_state import MemoryMapState, check_memory_map_state

if TYPE_CHECKING:
    from ..models.map_point import MapPoint


T = TypeVar("T", bound="MemoryMap")


@_attrs_define
class MemoryMap:
    """
    Attributes:
        state (MemoryMapState): `building`: no places were computed yet; ask again. Memories that are new get their
            place a little later
        computed_at (datetime.datetime | None): ISO 8601, UTC
        total (int): number of completed memories that match
        points (list[MapPoint]): newest first; a place that is known stays
    """

    state: MemoryMapState
    computed_at: datetime.datetime | None
    total: int
    points: list[MapPoint]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        state: str = self.state

        computed_at: None | str
        if isinstance(self.computed_at, datetime.datetime):
            computed_at = self.computed_at.isoformat()
        else:
            computed_at = self.computed_at

        total = self.total

        points = []
        for points_item_data in self.points:
            points_item = points_item_data.to_dict()
            points.append(points_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "state": state,
                "computed_at": computed_at,
                "total": total,
                "points": points,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.map_point import MapPoint  # noqa: PLC0415

        d = dict(src_dict)
        state = check_memory_map_state(d.pop("state"))

        def _parse_computed_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                computed_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return computed_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        computed_at = _parse_computed_at(d.pop("computed_at"))

        total = d.pop("total")

        points = []
        _points = d.pop("points")
        for points_item_data in _points:
            points_item = MapPoint.from_dict(points_item_data)

            points.append(points_item)

        memory_map = cls(
            state=state,
            computed_at=computed_at,
            total=total,
            points=points,
        )

        memory_map.additional_properties = d
        return memory_map

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
