from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.relation_by import RelationBy, check_relation_by
from ..models.relation_state import RelationState, check_relation_state
from ..models.relation_type import RelationType, check_relation_type

if TYPE_CHECKING:
    from ..models.relation_evidence_type_0 import RelationEvidenceType0


T = TypeVar("T", bound="Relation")


@_attrs_define
class Relation:
    """
    Attributes:
        type_ (RelationType): as seen from this memory
        memory_id (str): mem_… of the other memory
        state (RelationState): `suggested` has no effect until a person sets it
        by (RelationBy):
        confidence (float | None): null: a person set it
        evidence (None | RelationEvidenceType0): null: a person set it
        created_at (datetime.datetime): ISO 8601, UTC
    """

    type_: RelationType
    memory_id: str
    state: RelationState
    by: RelationBy
    confidence: float | None
    evidence: None | RelationEvidenceType0
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.relation_evidence_type_0 import RelationEvidenceType0  # noqa: PLC0415

        type_: str = self.type_

        memory_id = self.memory_id

        state: str = self.state

        by: str = self.by

        confidence: float | None
        confidence = self.confidence

        evidence: dict[str, Any] | None
        if isinstance(self.evidence, RelationEvidenceType0):
            evidence = self.evidence.to_dict()
        else:
            evidence = self.evidence

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "memory_id": memory_id,
                "state": state,
                "by": by,
                "confidence": confidence,
                "evidence": evidence,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.relation_evidence_type_0 import RelationEvidenceType0  # noqa: PLC0415

        d = dict(src_dict)
        type_ = check_relation_type(d.pop("type"))

        memory_id = d.pop("memory_id")

        state = check_relation_state(d.pop("state"))

        by = check_relation_by(d.pop("by"))

        def _parse_confidence(data: object) -> float | None:
            if data is None:
                return data
            return cast("float | None", data)

        confidence = _parse_confidence(d.pop("confidence"))

        def _parse_evidence(data: object) -> None | RelationEvidenceType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                evidence_type_0 = RelationEvidenceType0.from_dict(data)

                return evidence_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("None | RelationEvidenceType0", data)

        evidence = _parse_evidence(d.pop("evidence"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        relation = cls(
            type_=type_,
            memory_id=memory_id,
            state=state,
            by=by,
            confidence=confidence,
            evidence=evidence,
            created_at=created_at,
        )

        relation.additional_properties = d
        return relation

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
