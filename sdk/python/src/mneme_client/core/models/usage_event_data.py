from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.usage_event_data_answer_state import UsageEventDataAnswerState, check_usage_event_data_answer_state
from ..types import UNSET, Unset

T = TypeVar("T", bound="UsageEventData")


@_attrs_define
class UsageEventData:
    """
    Attributes:
        tokens_used (int): by the language model; 0 if none was used
        answer_state (UsageEventDataAnswerState | Unset): `partial`: nothing stored answers a part of the question, and
            the answer says which; `not_found`: nothing stored answers it, and `sources` has only what the answer cites
        evidence (float | None | Unset): probability that one of the passages found answers the question; null if there
            are none. `min_evidence` is compared with it
    """

    tokens_used: int
    answer_state: UsageEventDataAnswerState | Unset = UNSET
    evidence: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        tokens_used = self.tokens_used

        answer_state: str | Unset = UNSET
        if not isinstance(self.answer_state, Unset):
            answer_state = self.answer_state

        evidence: float | None | Unset
        if isinstance(self.evidence, Unset):
            evidence = UNSET
        else:
            evidence = self.evidence

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "tokens_used": tokens_used,
            }
        )
        if answer_state is not UNSET:
            field_dict["answer_state"] = answer_state
        if evidence is not UNSET:
            field_dict["evidence"] = evidence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        tokens_used = d.pop("tokens_used")

        _answer_state = d.pop("answer_state", UNSET)
        answer_state: UsageEventDataAnswerState | Unset
        if isinstance(_answer_state, Unset):
            answer_state = UNSET
        else:
            answer_state = check_usage_event_data_answer_state(_answer_state)

        def _parse_evidence(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast("float | None | Unset", data)

        evidence = _parse_evidence(d.pop("evidence", UNSET))

        usage_event_data = cls(
            tokens_used=tokens_used,
            answer_state=answer_state,
            evidence=evidence,
        )

        usage_event_data.additional_properties = d
        return usage_event_data

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
