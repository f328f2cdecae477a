from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.query_result_answer_state import QueryResultAnswerState, check_query_result_answer_state
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.query_result_usage import QueryResultUsage
    from ..models.search_result import SearchResult


T = TypeVar("T", bound="QueryResult")


@_attrs_define
class QueryResult:
    """
    Attributes:
        answer (str):
        sources (list[SearchResult]):
        usage (QueryResultUsage):
        answer_state (QueryResultAnswerState | Unset): `partial`: nothing stored answers a part of the question, and the
            answer says which; `not_found`: nothing stored answers it, and `sources` has only what the answer cites
        evidence (float | None | Unset): probability that one of the passages found answers the question; null if there
            are none. `min_evidence` is compared with it
    """

    answer: str
    sources: list[SearchResult]
    usage: QueryResultUsage
    answer_state: QueryResultAnswerState | Unset = UNSET
    evidence: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        answer = self.answer

        sources = []
        for sources_item_data in self.sources:
            sources_item = sources_item_data.to_dict()
            sources.append(sources_item)

        usage = self.usage.to_dict()

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
                "answer": answer,
                "sources": sources,
                "usage": usage,
            }
        )
        if answer_state is not UNSET:
            field_dict["answer_state"] = answer_state
        if evidence is not UNSET:
            field_dict["evidence"] = evidence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.query_result_usage import QueryResultUsage  # noqa: PLC0415
        from ..models.search_result import SearchResult  # noqa: PLC0415

        d = dict(src_dict)
        answer = d.pop("answer")

        sources = []
        _sources = d.pop("sources")
        for sources_item_data in _sources:
            sources_item = SearchResult.from_dict(sources_item_data)

            sources.append(sources_item)

        usage = QueryResultUsage.from_dict(d.pop("usage"))

        _answer_state = d.pop("answer_state", UNSET)
        answer_state: QueryResultAnswerState | Unset
        if isinstance(_answer_state, Unset):
            answer_state = UNSET
        else:
            answer_state = check_query_result_answer_state(_answer_state)

        def _parse_evidence(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast("float | None | Unset", data)

        evidence = _parse_evidence(d.pop("evidence", UNSET))

        query_result = cls(
            answer=answer,
            sources=sources,
            usage=usage,
            answer_state=answer_state,
            evidence=evidence,
        )

        query_result.additional_properties = d
        return query_result

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
