from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.history_relation_action import HistoryRelationAction, check_history_relation_action

if TYPE_CHECKING:
    from ..models.actor import Actor
    from ..models.relation import Relation


T = TypeVar("T", bound="HistoryRelation")


@_attrs_define
class HistoryRelation:
    """
    Attributes:
        kind (Literal['relation']):
        action (HistoryRelationAction):
        at (datetime.datetime): ISO 8601, UTC
        relation (Relation):
        by (Actor):
    """

    kind: Literal["relation"]
    action: HistoryRelationAction
    at: datetime.datetime
    relation: Relation
    by: Actor
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        kind = self.kind

        action: str = self.action

        at = self.at.isoformat()

        relation = self.relation.to_dict()

        by = self.by.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "kind": kind,
                "action": action,
                "at": at,
                "relation": relation,
                "by": by,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.actor import Actor  # noqa: PLC0415
        from ..models.relation import Relation  # noqa: PLC0415

        d = dict(src_dict)
        kind = cast("Literal['relation']", d.pop("kind"))
        if kind != "relation":
            raise ValueError(f"kind must match const 'relation', got '{kind}'")

        action = check_history_relation_action(d.pop("action"))

        at = datetime.datetime.fromisoformat(d.pop("at").replace("Z", "+00:00"))

        relation = Relation.from_dict(d.pop("relation"))

        by = Actor.from_dict(d.pop("by"))

        history_relation = cls(
            kind=kind,
            action=action,
            at=at,
            relation=relation,
            by=by,
        )

        history_relation.additional_properties = d
        return history_relation

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
