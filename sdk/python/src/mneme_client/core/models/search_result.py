from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.result_metadata import ResultMetadata
    from ..models.search_result_answer_spans_item import SearchResultAnswerSpansItem
    from ..models.search_result_explain import SearchResultExplain


T = TypeVar("T", bound="SearchResult")


@_attrs_define
class SearchResult:
    """
    Attributes:
        id (str): chunk_…
        content (str): the passage
        score (float):
        memory_id (str):
        metadata (ResultMetadata): metadata of the memory, plus two fields
        cited (bool | Unset): only in the sources of an answer: whether the answer cites this passage
        citation (int | Unset): only in cited sources: their number in the answer, as in `[2]`. It stays when a chat no
            longer has other sources, because they were deleted
        answer_spans (list[SearchResultAnswerSpansItem] | Unset): words of `content` that answer, in code points, in
            order; empty: it was read, and none answer; absent: it was not read
        explain (SearchResultExplain | Unset):
    """

    id: str
    content: str
    score: float
    memory_id: str
    metadata: ResultMetadata
    cited: bool | Unset = UNSET
    citation: int | Unset = UNSET
    answer_spans: list[SearchResultAnswerSpansItem] | Unset = UNSET
    explain: SearchResultExplain | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        content = self.content

        score = self.score

        memory_id = self.memory_id

        metadata = self.metadata.to_dict()

        cited = self.cited

        citation = self.citation

        answer_spans: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.answer_spans, Unset):
            answer_spans = []
            for answer_spans_item_data in self.answer_spans:
                answer_spans_item = answer_spans_item_data.to_dict()
                answer_spans.append(answer_spans_item)

        explain: dict[str, Any] | Unset = UNSET
        if not isinstance(self.explain, Unset):
            explain = self.explain.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "content": content,
                "score": score,
                "memory_id": memory_id,
                "metadata": metadata,
            }
        )
        if cited is not UNSET:
            field_dict["cited"] = cited
        if citation is not UNSET:
            field_dict["citation"] = citation
        if answer_spans is not UNSET:
            field_dict["answer_spans"] = answer_spans
        if explain is not UNSET:
            field_dict["explain"] = explain

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.result_metadata import ResultMetadata  # noqa: PLC0415
        from ..models.search_result_answer_spans_item import SearchResultAnswerSpansItem  # noqa: PLC0415
        from ..models.search_result_explain import SearchResultExplain  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        content = d.pop("content")

        score = d.pop("score")

        memory_id = d.pop("memory_id")

        metadata = ResultMetadata.from_dict(d.pop("metadata"))

        cited = d.pop("cited", UNSET)

        citation = d.pop("citation", UNSET)

        _answer_spans = d.pop("answer_spans", UNSET)
        answer_spans: list[SearchResultAnswerSpansItem] | Unset = UNSET
        if _answer_spans is not UNSET:
            answer_spans = []
            for answer_spans_item_data in _answer_spans:
                answer_spans_item = SearchResultAnswerSpansItem.from_dict(answer_spans_item_data)

                answer_spans.append(answer_spans_item)

        _explain = d.pop("explain", UNSET)
        explain: SearchResultExplain | Unset
        if isinstance(_explain, Unset):
            explain = UNSET
        else:
            explain = SearchResultExplain.from_dict(_explain)

        search_result = cls(
            id=id,
            content=content,
            score=score,
            memory_id=memory_id,
            metadata=metadata,
            cited=cited,
            citation=citation,
            answer_spans=answer_spans,
            explain=explain,
        )

        search_result.additional_properties = d
        return search_result

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
