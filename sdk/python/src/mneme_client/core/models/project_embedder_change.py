from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.project_embedder_change_state import ProjectEmbedderChangeState, check_project_embedder_change_state

T = TypeVar("T", bound="ProjectEmbedderChange")


@_attrs_define
class ProjectEmbedderChange:
    """the last change; null if there was none

    Attributes:
        model (str):
        state (ProjectEmbedderChangeState):
        error (None | str): why it failed
        chunks_done (int):
        chunks_total (int | None): null until the chunks were counted
        started_at (datetime.datetime): ISO 8601, UTC
        ended_at (datetime.datetime | None): ISO 8601, UTC
    """

    model: str
    state: ProjectEmbedderChangeState
    error: None | str
    chunks_done: int
    chunks_total: int | None
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        model = self.model

        state: str = self.state

        error: None | str
        error = self.error

        chunks_done = self.chunks_done

        chunks_total: int | None
        chunks_total = self.chunks_total

        started_at = self.started_at.isoformat()

        ended_at: None | str
        if isinstance(self.ended_at, datetime.datetime):
            ended_at = self.ended_at.isoformat()
        else:
            ended_at = self.ended_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "model": model,
                "state": state,
                "error": error,
                "chunks_done": chunks_done,
                "chunks_total": chunks_total,
                "started_at": started_at,
                "ended_at": ended_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        model = d.pop("model")

        state = check_project_embedder_change_state(d.pop("state"))

        def _parse_error(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        error = _parse_error(d.pop("error"))

        chunks_done = d.pop("chunks_done")

        def _parse_chunks_total(data: object) -> int | None:
            if data is None:
                return data
            return cast("int | None", data)

        chunks_total = _parse_chunks_total(d.pop("chunks_total"))

        started_at = datetime.datetime.fromisoformat(d.pop("started_at").replace("Z", "+00:00"))

        def _parse_ended_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                ended_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return ended_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        ended_at = _parse_ended_at(d.pop("ended_at"))

        project_embedder_change = cls(
            model=model,
            state=state,
            error=error,
            chunks_done=chunks_done,
            chunks_total=chunks_total,
            started_at=started_at,
            ended_at=ended_at,
        )

        project_embedder_change.additional_properties = d
        return project_embedder_change

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
