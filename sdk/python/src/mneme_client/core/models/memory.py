from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.memory_extraction import MemoryExtraction, check_memory_extraction
from ..models.memory_status import MemoryStatus, check_memory_status
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.memory_failure import MemoryFailure
    from ..models.memory_metadata import MemoryMetadata
    from ..models.memory_parts import MemoryParts
    from ..models.memory_progress import MemoryProgress
    from ..models.memory_source import MemorySource
    from ..models.relation import Relation


T = TypeVar("T", bound="Memory")


@_attrs_define
class Memory:
    """
    Attributes:
        id (str): mem_…
        status (MemoryStatus):
        content (str):
        title (None | str):
        type_ (None | str):
        tags (list[str] | None):
        metadata (MemoryMetadata):
        user_id (None | str):
        agent_id (None | str):
        session_id (None | str):
        language (None | str):
        external_id (None | str):
        created_at (datetime.datetime): ISO 8601, UTC
        updated_at (datetime.datetime): ISO 8601, UTC
        expires_at (datetime.datetime | None): ISO 8601, UTC
        occurred_at (datetime.datetime | None): ISO 8601, UTC
        occurred_at_given (None | str):
        superseded_by (None | str):
        source (MemorySource | None):
        parts (MemoryParts | Unset): memories of the files in a ZIP, MBOX or message with attachments
        chunk_count (int | Unset): present when completed
        extraction (MemoryExtraction | Unset): source of title, type, tags and language; present when completed
        relations (list[Relation] | Unset): with other memories, newest first, at most 100; present only in the answer
            of getMemory
        error (MemoryFailure | Unset): present when failed
        progress (MemoryProgress | Unset): present while processing
    """

    id: str
    status: MemoryStatus
    content: str
    title: None | str
    type_: None | str
    tags: list[str] | None
    metadata: MemoryMetadata
    user_id: None | str
    agent_id: None | str
    session_id: None | str
    language: None | str
    external_id: None | str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    expires_at: datetime.datetime | None
    occurred_at: datetime.datetime | None
    occurred_at_given: None | str
    superseded_by: None | str
    source: MemorySource | None
    parts: MemoryParts | Unset = UNSET
    chunk_count: int | Unset = UNSET
    extraction: MemoryExtraction | Unset = UNSET
    relations: list[Relation] | Unset = UNSET
    error: MemoryFailure | Unset = UNSET
    progress: MemoryProgress | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.memory_source import MemorySource  # noqa: PLC0415

        id = self.id

        status: str = self.status

        content = self.content

        title: None | str
        title = self.title

        type_: None | str
        type_ = self.type_

        tags: list[str] | None
        if isinstance(self.tags, list):
            tags = self.tags

        else:
            tags = self.tags

        metadata = self.metadata.to_dict()

        user_id: None | str
        user_id = self.user_id

        agent_id: None | str
        agent_id = self.agent_id

        session_id: None | str
        session_id = self.session_id

        language: None | str
        language = self.language

        external_id: None | str
        external_id = self.external_id

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        occurred_at: None | str
        if isinstance(self.occurred_at, datetime.datetime):
            occurred_at = self.occurred_at.isoformat()
        else:
            occurred_at = self.occurred_at

        occurred_at_given: None | str
        occurred_at_given = self.occurred_at_given

        superseded_by: None | str
        superseded_by = self.superseded_by

        source: dict[str, Any] | None
        if isinstance(self.source, MemorySource):
            source = self.source.to_dict()
        else:
            source = self.source

        parts: dict[str, Any] | Unset = UNSET
        if not isinstance(self.parts, Unset):
            parts = self.parts.to_dict()

        chunk_count = self.chunk_count

        extraction: str | Unset = UNSET
        if not isinstance(self.extraction, Unset):
            extraction = self.extraction

        relations: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.relations, Unset):
            relations = []
            for relations_item_data in self.relations:
                relations_item = relations_item_data.to_dict()
                relations.append(relations_item)

        error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.error, Unset):
            error = self.error.to_dict()

        progress: dict[str, Any] | Unset = UNSET
        if not isinstance(self.progress, Unset):
            progress = self.progress.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "status": status,
                "content": content,
                "title": title,
                "type": type_,
                "tags": tags,
                "metadata": metadata,
                "userId": user_id,
                "agentId": agent_id,
                "sessionId": session_id,
                "language": language,
                "externalId": external_id,
                "created_at": created_at,
                "updated_at": updated_at,
                "expires_at": expires_at,
                "occurred_at": occurred_at,
                "occurred_at_given": occurred_at_given,
                "superseded_by": superseded_by,
                "source": source,
            }
        )
        if parts is not UNSET:
            field_dict["parts"] = parts
        if chunk_count is not UNSET:
            field_dict["chunk_count"] = chunk_count
        if extraction is not UNSET:
            field_dict["extraction"] = extraction
        if relations is not UNSET:
            field_dict["relations"] = relations
        if error is not UNSET:
            field_dict["error"] = error
        if progress is not UNSET:
            field_dict["progress"] = progress

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.memory_failure import MemoryFailure  # noqa: PLC0415
        from ..models.memory_metadata import MemoryMetadata  # noqa: PLC0415
        from ..models.memory_parts import MemoryParts  # noqa: PLC0415
        from ..models.memory_progress import MemoryProgress  # noqa: PLC0415
        from ..models.memory_source import MemorySource  # noqa: PLC0415
        from ..models.relation import Relation  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        status = check_memory_status(d.pop("status"))

        content = d.pop("content")

        def _parse_title(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        title = _parse_title(d.pop("title"))

        def _parse_type_(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        type_ = _parse_type_(d.pop("type"))

        def _parse_tags(data: object) -> list[str] | None:
            if data is None:
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                tags_type_0 = cast("list[str]", data)

                return tags_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("list[str] | None", data)

        tags = _parse_tags(d.pop("tags"))

        metadata = MemoryMetadata.from_dict(d.pop("metadata"))

        def _parse_user_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        user_id = _parse_user_id(d.pop("userId"))

        def _parse_agent_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        agent_id = _parse_agent_id(d.pop("agentId"))

        def _parse_session_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        session_id = _parse_session_id(d.pop("sessionId"))

        def _parse_language(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        language = _parse_language(d.pop("language"))

        def _parse_external_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        external_id = _parse_external_id(d.pop("externalId"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at").replace("Z", "+00:00"))

        def _parse_expires_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        expires_at = _parse_expires_at(d.pop("expires_at"))

        def _parse_occurred_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                occurred_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return occurred_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        occurred_at = _parse_occurred_at(d.pop("occurred_at"))

        def _parse_occurred_at_given(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        occurred_at_given = _parse_occurred_at_given(d.pop("occurred_at_given"))

        def _parse_superseded_by(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        superseded_by = _parse_superseded_by(d.pop("superseded_by"))

        def _parse_source(data: object) -> MemorySource | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                source_type_0 = MemorySource.from_dict(data)

                return source_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("MemorySource | None", data)

        source = _parse_source(d.pop("source"))

        _parts = d.pop("parts", UNSET)
        parts: MemoryParts | Unset
        if isinstance(_parts, Unset):
            parts = UNSET
        else:
            parts = MemoryParts.from_dict(_parts)

        chunk_count = d.pop("chunk_count", UNSET)

        _extraction = d.pop("extraction", UNSET)
        extraction: MemoryExtraction | Unset
        if isinstance(_extraction, Unset):
            extraction = UNSET
        else:
            extraction = check_memory_extraction(_extraction)

        _relations = d.pop("relations", UNSET)
        relations: list[Relation] | Unset = UNSET
        if _relations is not UNSET:
            relations = []
            for relations_item_data in _relations:
                relations_item = Relation.from_dict(relations_item_data)

                relations.append(relations_item)

        _error = d.pop("error", UNSET)
        error: MemoryFailure | Unset
        if isinstance(_error, Unset):
            error = UNSET
        else:
            error = MemoryFailure.from_dict(_error)

        _progress = d.pop("progress", UNSET)
        progress: MemoryProgress | Unset
        if isinstance(_progress, Unset):
            progress = UNSET
        else:
            progress = MemoryProgress.from_dict(_progress)

        memory = cls(
            id=id,
            status=status,
            content=content,
            title=title,
            type_=type_,
            tags=tags,
            metadata=metadata,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            language=language,
            external_id=external_id,
            created_at=created_at,
            updated_at=updated_at,
            expires_at=expires_at,
            occurred_at=occurred_at,
            occurred_at_given=occurred_at_given,
            superseded_by=superseded_by,
            source=source,
            parts=parts,
            chunk_count=chunk_count,
            extraction=extraction,
            relations=relations,
            error=error,
            progress=progress,
        )

        memory.additional_properties = d
        return memory

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
