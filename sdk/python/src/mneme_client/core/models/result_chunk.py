from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.result_chunk_standing import ResultChunkStanding, check_result_chunk_standing
from ..types import UNSET, Unset

T = TypeVar("T", bound="ResultChunk")


@_attrs_define
class ResultChunk:
    """place of the passage

    Attributes:
        ordinal (int): number of the passage in the memory, from 0
        start (int): of the passage in the memory's content, in code points
        end (int): behind the passage
        headings (list[str] | Unset):
        page (int | Unset): page of a PDF, from 1
        slide (int | Unset): slide of a presentation, from 1
        sheet (str | Unset): sheet of a spreadsheet
        cells (str | Unset): range of cells of the sheet, such as `B2:D14`
        line (int | Unset): first line of the passage in a text file, from 1
        line_end (int | Unset): its last line
        from_seconds (float | Unset): where the passage begins in the recording that subtitles belong to
        to_seconds (float | Unset): where it ends
        symbol (str | Unset): function, class or other definition of source code
        ocr_confidence (float | Unset): how sure the text is; only where it was recognised in a picture
        speaker (None | str | Unset): speaker of a conversation's turn
        date (None | str | Unset): date of a conversation's turn
        superseded_by (str | Unset): mem_… of the memory that supersedes the passage, if its memory has several
        standing (ResultChunkStanding | Unset): the passage holds beyond its subject: how answers shall be, or what its
            author likes
    """

    ordinal: int
    start: int
    end: int
    headings: list[str] | Unset = UNSET
    page: int | Unset = UNSET
    slide: int | Unset = UNSET
    sheet: str | Unset = UNSET
    cells: str | Unset = UNSET
    line: int | Unset = UNSET
    line_end: int | Unset = UNSET
    from_seconds: float | Unset = UNSET
    to_seconds: float | Unset = UNSET
    symbol: str | Unset = UNSET
    ocr_confidence: float | Unset = UNSET
    speaker: None | str | Unset = UNSET
    date: None | str | Unset = UNSET
    superseded_by: str | Unset = UNSET
    standing: ResultChunkStanding | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ordinal = self.ordinal

        start = self.start

        end = self.end

        headings: list[str] | Unset = UNSET
        if not isinstance(self.headings, Unset):
            headings = self.headings

        page = self.page

        slide = self.slide

        sheet = self.sheet

        cells = self.cells

        line = self.line

        line_end = self.line_end

        from_seconds = self.from_seconds

        to_seconds = self.to_seconds

        symbol = self.symbol

        ocr_confidence = self.ocr_confidence

        speaker: None | str | Unset
        if isinstance(self.speaker, Unset):
            speaker = UNSET
        else:
            speaker = self.speaker

        date: None | str | Unset
        if isinstance(self.date, Unset):
            date = UNSET
        else:
            date = self.date

        superseded_by = self.superseded_by

        standing: str | Unset = UNSET
        if not isinstance(self.standing, Unset):
            standing = self.standing

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ordinal": ordinal,
                "start": start,
                "end": end,
            }
        )
        if headings is not UNSET:
            field_dict["headings"] = headings
        if page is not UNSET:
            field_dict["page"] = page
        if slide is not UNSET:
            field_dict["slide"] = slide
        if sheet is not UNSET:
            field_dict["sheet"] = sheet
        if cells is not UNSET:
            field_dict["cells"] = cells
        if line is not UNSET:
            field_dict["line"] = line
        if line_end is not UNSET:
            field_dict["line_end"] = line_end
        if from_seconds is not UNSET:
            field_dict["from_seconds"] = from_seconds
        if to_seconds is not UNSET:
            field_dict["to_seconds"] = to_seconds
        if symbol is not UNSET:
            field_dict["symbol"] = symbol
        if ocr_confidence is not UNSET:
            field_dict["ocr_confidence"] = ocr_confidence
        if speaker is not UNSET:
            field_dict["speaker"] = speaker
        if date is not UNSET:
            field_dict["date"] = date
        if superseded_by is not UNSET:
            field_dict["superseded_by"] = superseded_by
        if standing is not UNSET:
            field_dict["standing"] = standing

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        ordinal = d.pop("ordinal")

        start = d.pop("start")

        end = d.pop("end")

        headings = cast("list[str]", d.pop("headings", UNSET))

        page = d.pop("page", UNSET)

        slide = d.pop("slide", UNSET)

        sheet = d.pop("sheet", UNSET)

        cells = d.pop("cells", UNSET)

        line = d.pop("line", UNSET)

        line_end = d.pop("line_end", UNSET)

        from_seconds = d.pop("from_seconds", UNSET)

        to_seconds = d.pop("to_seconds", UNSET)

        symbol = d.pop("symbol", UNSET)

        ocr_confidence = d.pop("ocr_confidence", UNSET)

        def _parse_speaker(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast("None | str | Unset", data)

        speaker = _parse_speaker(d.pop("speaker", UNSET))

        def _parse_date(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast("None | str | Unset", data)

        date = _parse_date(d.pop("date", UNSET))

        superseded_by = d.pop("superseded_by", UNSET)

        _standing = d.pop("standing", UNSET)
        standing: ResultChunkStanding | Unset
        if isinstance(_standing, Unset):
            standing = UNSET
        else:
            standing = check_result_chunk_standing(_standing)

        result_chunk = cls(
            ordinal=ordinal,
            start=start,
            end=end,
            headings=headings,
            page=page,
            slide=slide,
            sheet=sheet,
            cells=cells,
            line=line,
            line_end=line_end,
            from_seconds=from_seconds,
            to_seconds=to_seconds,
            symbol=symbol,
            ocr_confidence=ocr_confidence,
            speaker=speaker,
            date=date,
            superseded_by=superseded_by,
            standing=standing,
        )

        result_chunk.additional_properties = d
        return result_chunk

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
