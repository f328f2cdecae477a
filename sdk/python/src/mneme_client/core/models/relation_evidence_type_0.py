from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.relation_evidence_type_0_other import RelationEvidenceType0Other
    from ..models.relation_evidence_type_0_own import RelationEvidenceType0Own


T = TypeVar("T", bound="RelationEvidenceType0")


@_attrs_define
class RelationEvidenceType0:
    """null: a person set it

    Attributes:
        own (RelationEvidenceType0Own):
        other (RelationEvidenceType0Other):
    """

    own: RelationEvidenceType0Own
    other: RelationEvidenceType0Other
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        own = self.own.to_dict()

        other = self.other.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "own": own,
                "other": other,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.relation_evidence_type_0_other import RelationEvidenceType0Other  # noqa: PLC0415
        from ..models.relation_evidence_type_0_own import RelationEvidenceType0Own  # noqa: PLC0415

        d = dict(src_dict)
        own = RelationEvidenceType0Own.from_dict(d.pop("own"))

        other = RelationEvidenceType0Other.from_dict(d.pop("other"))

        relation_evidence_type_0 = cls(
            own=own,
            other=other,
        )

        relation_evidence_type_0.additional_properties = d
        return relation_evidence_type_0

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
