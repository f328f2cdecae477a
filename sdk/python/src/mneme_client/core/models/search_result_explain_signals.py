from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.search_result_explain_signals_graph import SearchResultExplainSignalsGraph
    from ..models.search_result_explain_signals_neighbours import SearchResultExplainSignalsNeighbours
    from ..models.search_result_explain_signals_rerank import SearchResultExplainSignalsRerank
    from ..models.search_result_explain_signals_text import SearchResultExplainSignalsText
    from ..models.search_result_explain_signals_time import SearchResultExplainSignalsTime
    from ..models.search_result_explain_signals_vector import SearchResultExplainSignalsVector


T = TypeVar("T", bound="SearchResultExplainSignals")


@_attrs_define
class SearchResultExplainSignals:
    """
    Attributes:
        vector (SearchResultExplainSignalsVector | Unset):
        text (SearchResultExplainSignalsText | Unset):
        graph (SearchResultExplainSignalsGraph | Unset):
        rerank (SearchResultExplainSignalsRerank | Unset):
        time (SearchResultExplainSignalsTime | Unset):
        neighbours (SearchResultExplainSignalsNeighbours | Unset):
    """

    vector: SearchResultExplainSignalsVector | Unset = UNSET
    text: SearchResultExplainSignalsText | Unset = UNSET
    graph: SearchResultExplainSignalsGraph | Unset = UNSET
    rerank: SearchResultExplainSignalsRerank | Unset = UNSET
    time: SearchResultExplainSignalsTime | Unset = UNSET
    neighbours: SearchResultExplainSignalsNeighbours | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        vector: dict[str, Any] | Unset = UNSET
        if not isinstance(self.vector, Unset):
            vector = self.vector.to_dict()

        text: dict[str, Any] | Unset = UNSET
        if not isinstance(self.text, Unset):
            text = self.text.to_dict()

        graph: dict[str, Any] | Unset = UNSET
        if not isinstance(self.graph, Unset):
            graph = self.graph.to_dict()

        rerank: dict[str, Any] | Unset = UNSET
        if not isinstance(self.rerank, Unset):
            rerank = self.rerank.to_dict()

        time: dict[str, Any] | Unset = UNSET
        if not isinstance(self.time, Unset):
            time = self.time.to_dict()

        neighbours: dict[str, Any] | Unset = UNSET
        if not isinstance(self.neighbours, Unset):
            neighbours = self.neighbours.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if vector is not UNSET:
            field_dict["vector"] = vector
        if text is not UNSET:
            field_dict["text"] = text
        if graph is not UNSET:
            field_dict["graph"] = graph
        if rerank is not UNSET:
            field_dict["rerank"] = rerank
        if time is not UNSET:
            field_dict["time"] = time
        if neighbours is not UNSET:
            field_dict["neighbours"] = neighbours

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.search_result_explain_signals_graph import SearchResultExplainSignalsGraph  # noqa: PLC0415
        from ..models.search_result_explain_signals_neighbours import SearchResultExplainSignalsNeighbours  # noqa: PLC0415
        from ..models.search_result_explain_signals_rerank import SearchResultExplainSignalsRerank  # noqa: PLC0415
        from ..models.search_result_explain_signals_text import SearchResultExplainSignalsText  # noqa: PLC0415
        from ..models.search_result_explain_signals_time import SearchResultExplainSignalsTime  # noqa: PLC0415
        from ..models.search_result_explain_signals_vector import SearchResultExplainSignalsVector  # noqa: PLC0415

        d = dict(src_dict)
        _vector = d.pop("vector", UNSET)
        vector: SearchResultExplainSignalsVector | Unset
        if isinstance(_vector, Unset):
            vector = UNSET
        else:
            vector = SearchResultExplainSignalsVector.from_dict(_vector)

        _text = d.pop("text", UNSET)
        text: SearchResultExplainSignalsText | Unset
        if isinstance(_text, Unset):
            text = UNSET
        else:
            text = SearchResultExplainSignalsText.from_dict(_text)

        _graph = d.pop("graph", UNSET)
        graph: SearchResultExplainSignalsGraph | Unset
        if isinstance(_graph, Unset):
            graph = UNSET
        else:
            graph = SearchResultExplainSignalsGraph.from_dict(_graph)

        _rerank = d.pop("rerank", UNSET)
        rerank: SearchResultExplainSignalsRerank | Unset
        if isinstance(_rerank, Unset):
            rerank = UNSET
        else:
            rerank = SearchResultExplainSignalsRerank.from_dict(_rerank)

        _time = d.pop("time", UNSET)
        time: SearchResultExplainSignalsTime | Unset
        if isinstance(_time, Unset):
            time = UNSET
        else:
            time = SearchResultExplainSignalsTime.from_dict(_time)

        _neighbours = d.pop("neighbours", UNSET)
        neighbours: SearchResultExplainSignalsNeighbours | Unset
        if isinstance(_neighbours, Unset):
            neighbours = UNSET
        else:
            neighbours = SearchResultExplainSignalsNeighbours.from_dict(_neighbours)

        search_result_explain_signals = cls(
            vector=vector,
            text=text,
            graph=graph,
            rerank=rerank,
            time=time,
            neighbours=neighbours,
        )

        search_result_explain_signals.additional_properties = d
        return search_result_explain_signals

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
