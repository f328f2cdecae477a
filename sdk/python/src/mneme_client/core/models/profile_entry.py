from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ProfileEntry")


@_attrs_define
class ProfileEntry:
    """
    Attributes:
        text (str): The content of the memory from `start` to `end`
        memory_id (str): mem_…
        start (int): In Unicode code points
        end (int): In Unicode code points, exclusive
        occurred_at (datetime.datetime | None): ISO 8601, UTC
    """

    text: str
    memory_id: str
    start: int
    end: int
    occurred_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        text = self.text

        memory_id = self.memory_id

        start = self.start

        end = self.end

        occurred_at: None | str
        if isinstance(self.occurred_at, datetime.datetime):
            occurred_at = self.occurred_at.isoformat()
        else:
            occurred_at = self.occurred_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "text": text,
                "memory_id": memory_id,
                "start": start,
                "end": end,
                "occurred_at": occurred_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        text = d.pop("text")

        memory_id = d.pop("memory_id")

        start = d.pop("start")

        end = d.pop("end")

        def _parse_occurred_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                occurred_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return occurred_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        occurred_at = _parse_occurred_at(d.pop("occurred_at"))

        profile_entry = cls(
            text=text,
            memory_id=memory_id,
            start=start,
            end=end,
            occurred_at=occurred_at,
        )

        profile_entry.additional_properties = d
        return profile_entry

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
