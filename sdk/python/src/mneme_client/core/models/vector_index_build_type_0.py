from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.vector_index_build_type_0_state import VectorIndexBuildType0State, check_vector_index_build_type_0_state

T = TypeVar("T", bound="VectorIndexBuildType0")


@_attrs_define
class VectorIndexBuildType0:
    """the graph that is being built, or could not be built; null: neither

    Attributes:
        state (VectorIndexBuildType0State):
        vectors_done (int):
        vectors_total (int):
        error (None | str): why it failed
        started_at (datetime.datetime): ISO 8601, UTC
    """

    state: VectorIndexBuildType0State
    vectors_done: int
    vectors_total: int
    error: None | str
    started_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        state: str = self.state

        vectors_done = self.vectors_done

        vectors_total = self.vectors_total

        error: None | str
        error = self.error

        started_at = self.started_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "state": state,
                "vectors_done": vectors_done,
                "vectors_total": vectors_total,
                "error": error,
                "started_at": started_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        state = check_vector_index_build_type_0_state(d.pop("state"))

        vectors_done = d.pop("vectors_done")

        vectors_total = d.pop("vectors_total")

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        error = _parse_error(d.pop("error"))

        started_at = datetime.datetime.fromisoformat(d.pop("started_at").replace("Z", "+00:00"))

        vector_index_build_type_0 = cls(
            state=state,
            vectors_done=vectors_done,
            vectors_total=vectors_total,
            error=error,
            started_at=started_at,
        )

        vector_index_build_type_0.additional_properties = d
        return vector_index_build_type_0

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
