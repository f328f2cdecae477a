from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.project_embedder_change import ProjectEmbedderChange


T = TypeVar("T", bound="ProjectEmbedder")


@_attrs_define
class ProjectEmbedder:
    """
    Attributes:
        project_id (str):
        model (None | str): id of the model that searches use
        previous (None | str): id of the model whose vectors are kept for a rollback
        change (None | ProjectEmbedderChange): the last change; null if there was none
    """

    project_id: str
    model: None | str
    previous: None | str
    change: None | ProjectEmbedderChange
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.project_embedder_change import ProjectEmbedderChange  # noqa: PLC0415

        project_id = self.project_id

        model: None | str
        model = self.model

        previous: None | str
        previous = self.previous

        change: dict[str, Any] | None
        if isinstance(self.change, ProjectEmbedderChange):
            change = self.change.to_dict()
        else:
            change = self.change

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "projectId": project_id,
                "model": model,
                "previous": previous,
                "change": change,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.project_embedder_change import ProjectEmbedderChange  # noqa: PLC0415

        d = dict(src_dict)
        project_id = d.pop("projectId")

        def _parse_model(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        model = _parse_model(d.pop("model"))

        def _parse_previous(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        previous = _parse_previous(d.pop("previous"))

        def _parse_change(data: object) -> None | ProjectEmbedderChange:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                change_type_0 = ProjectEmbedderChange.from_dict(data)

                return change_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("None | ProjectEmbedderChange", data)

        change = _parse_change(d.pop("change"))

        project_embedder = cls(
            project_id=project_id,
            model=model,
            previous=previous,
            change=change,
        )

        project_embedder.additional_properties = d
        return project_embedder

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
