"""Made by sdk/generate.ts from the asynchronous half. Memories: store, search, answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._shared import (
    FIRST_LOOK_SECONDS,
    LOOK_SECONDS_MAX,
    WAIT_SECONDS_MAX,
    Json,
    Moment,
    Progress,
    UploadFile,
    body_of,
    form_of,
    json_of,
    moment_of,
    plain,
)
from ..core.api.memories import (
    batch_create,
    count_memories,
    create_memory,
    create_memory_from_url,
    delete_memories,
    delete_memory,
    erase_memory_history,
    forget_relation,
    get_job,
    get_memory,
    get_memory_file,
    get_memory_graph,
    get_memory_history,
    get_memory_map,
    list_memories,
    query_memories,
    refetch_memory,
    retry_memories,
    retry_memory,
    search_memories,
    set_relation,
    update_memory,
    upload_memory,
)
from ..core.models.batch_result import BatchResult
from ..core.models.count_memories_status import CountMemoriesStatus
from ..core.models.history_list import HistoryList
from ..core.models.history_relation import HistoryRelation
from ..core.models.history_text import HistoryText
from ..core.models.job import Job
from ..core.models.list_memories_order import ListMemoriesOrder
from ..core.models.list_memories_status import ListMemoriesStatus
from ..core.models.matched_memories import MatchedMemories
from ..core.models.memory import Memory
from ..core.models.memory_count import MemoryCount
from ..core.models.memory_graph import MemoryGraph
from ..core.models.memory_list import MemoryList
from ..core.models.memory_map import MemoryMap
from ..core.models.query_result import QueryResult
from ..core.models.relation import Relation
from ..core.models.relation_list import RelationList
from ..core.models.retried_memories import RetriedMemories
from ..core.models.search_results import SearchResults
from ..core.types import UNSET, Unset
from ..errors import ProcessingError, WaitTimeoutError
from .lists import List
from .streams import AnswerStream
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions, WriteOptions


class Memories:
    """The operations on memories."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        content: str,
        *,
        title: str | None | Unset = UNSET,
        type: str | None | Unset = UNSET,  # noqa: A002 name of the API
        tags: Sequence[str] | None | Unset = UNSET,
        metadata: Json | None | Unset = UNSET,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        language: str | None | Unset = UNSET,
        external_id: str | None | Unset = UNSET,
        expires_at: Moment | None | Unset = UNSET,
        occurred_at: Moment | None | Unset = UNSET,
        wait: bool = False,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[WriteOptions],
    ) -> Memory:
        """Store a text.

        It is stored when the call returns, and searchable a moment later: `wait=True` waits for that, at most
        `wait_timeout` seconds. An existing `external_id` updates its memory.
        """
        body = body_of(
            content=content,
            title=title,
            type=type,
            tags=_listed(tags),
            metadata=metadata,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            language=language,
            external_id=external_id,
            expires_at=expires_at,
            occurred_at=occurred_at,
        )
        memory = self._transport.call(create_memory.request(), Memory.from_dict, options, body=body, repeatable="keyed")
        return self._searchable(memory, wait_timeout, options) if wait else memory

    def add_many(
        self,
        memories: Iterable[Json],
        *,
        wait: bool = False,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[WriteOptions],
    ) -> BatchResult:
        """Store up to 100 texts, each with the fields of the API (`content`, `userId`, …).

        Each is accepted or refused on its own. With `wait=True`, some can have the status `failed`.
        """
        body = {"memories": [plain(each) for each in memories]}
        result = self._transport.call(
            batch_create.request(), BatchResult.from_dict, options, body=body, repeatable="keyed"
        )
        if wait:
            for item in result.data:
                memory = getattr(item, "memory", None)
                if isinstance(memory, Memory):
                    item.memory = self._processed(memory, wait_timeout, options)  # type: ignore[union-attr]
        return result

    def upload(
        self,
        file: Any,
        *,
        filename: str | None = None,
        on_progress: Progress | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002 name of the API
        tags: Sequence[str] | None = None,
        metadata: Json | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        language: str | None = None,
        external_id: str | None = None,
        expires_at: Moment | None = None,
        occurred_at: Moment | None = None,
        ocr: str | None = None,
        wait: bool = False,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[WriteOptions],
    ) -> Memory:
        """Store the text of a file, up to 100 MB: PDF, Office, OpenDocument, RTF, EPUB, HTML, Markdown, plain text and
        source code, CSV, JSON, XML, YAML, notebooks, subtitles, calendars, address cards, e-mails and ZIP archives.

        `file` is a path, bytes, or a binary file. The ending of `filename` decides the format. `on_progress` is called
        with the bytes that were read so far, and all of them. `ocr` (`auto` or `off`) says whether text in pictures
        is read.
        """
        form = form_of(
            title=title,
            type=type,
            tags=_listed(tags),
            metadata=metadata,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            language=language,
            external_id=external_id,
            expires_at=expires_at,
            occurred_at=occurred_at,
            ocr=ocr,
        )
        memory = self._transport.call(
            upload_memory.request(),
            Memory.from_dict,
            options,
            form=form,
            file=UploadFile(file, filename, on_progress),
            repeatable="keyed",
        )
        return self._searchable(memory, wait_timeout, options) if wait else memory

    def add_url(
        self,
        url: str,
        *,
        title: str | None | Unset = UNSET,
        type: str | None | Unset = UNSET,  # noqa: A002 name of the API
        tags: Sequence[str] | None | Unset = UNSET,
        metadata: Json | None | Unset = UNSET,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        language: str | None | Unset = UNSET,
        external_id: str | None | Unset = UNSET,
        expires_at: Moment | None | Unset = UNSET,
        occurred_at: Moment | None | Unset = UNSET,
        ocr: str | None | Unset = UNSET,
        wait: bool = False,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[WriteOptions],
    ) -> Memory:
        """Store the text of a page or file that the server fetches."""
        body = body_of(
            url=url,
            title=title,
            type=type,
            tags=_listed(tags),
            metadata=metadata,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            language=language,
            external_id=external_id,
            expires_at=expires_at,
            occurred_at=occurred_at,
            ocr=ocr,
        )
        memory = self._transport.call(
            create_memory_from_url.request(), Memory.from_dict, options, body=body, repeatable="keyed"
        )
        return self._searchable(memory, wait_timeout, options) if wait else memory

    def refetch(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        wait: bool = False,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[CallOptions],
    ) -> Memory:
        """Fetch the URL of a memory again. Nothing changes if the page is the same."""
        memory = self._transport.call(refetch_memory.request(id), Memory.from_dict, _call_options(options))
        return self._searchable(memory, wait_timeout, options) if wait else memory

    def get(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        known_at: Moment | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> Memory:
        """Read a memory. `known_at`: with its text and relations of that time."""
        request = get_memory.request(id, known_at=moment_of(known_at))
        return self._transport.call(request, Memory.from_dict, _call_options(options))

    def list(
        self,
        *,
        limit: int | Unset = UNSET,
        status: ListMemoriesStatus | Unset = UNSET,
        type: str | Unset = UNSET,  # noqa: A002 name of the API
        user_id: str | Unset = UNSET,
        agent_id: str | Unset = UNSET,
        session_id: str | Unset = UNSET,
        tag: str | Unset = UNSET,
        q: str | Unset = UNSET,
        superseded: bool | Unset = UNSET,
        container: str | Unset = UNSET,
        known_at: Moment | Unset = UNSET,
        order: ListMemoriesOrder | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> List[Memory]:
        """List memories, newest first or, with `order="oldest"`, oldest first. `q` is a part of the title."""

        def fetch(cursor: str | Unset) -> MemoryList:
            request = list_memories.request(
                limit=limit,
                cursor=cursor,
                status=status,
                type_=type,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                tag=tag,
                q=q,
                superseded=superseded,
                container=container,
                known_at=moment_of(known_at),
                order=order,
            )
            return self._transport.call(request, MemoryList.from_dict, _call_options(options))

        return List(fetch)

    def count(
        self,
        *,
        status: CountMemoriesStatus | Unset = UNSET,
        type: str | Unset = UNSET,  # noqa: A002 name of the API
        user_id: str | Unset = UNSET,
        agent_id: str | Unset = UNSET,
        session_id: str | Unset = UNSET,
        tag: str | Unset = UNSET,
        q: str | Unset = UNSET,
        superseded: bool | Unset = UNSET,
        container: str | Unset = UNSET,
        known_at: Moment | Unset = UNSET,
        filters: Json | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> int:
        """Count the memories that `list` would list, limited by `filters`."""
        request = count_memories.request(
            status=status,
            type_=type,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            tag=tag,
            q=q,
            superseded=superseded,
            container=container,
            known_at=moment_of(known_at),
            filters=json_of(filters),
        )
        counted = self._transport.call(request, MemoryCount.from_dict, _call_options(options))
        return counted.count

    def update(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        content: str | Unset = UNSET,
        title: str | None | Unset = UNSET,
        type: str | None | Unset = UNSET,  # noqa: A002 name of the API
        tags: Sequence[str] | None | Unset = UNSET,
        metadata: Json | None | Unset = UNSET,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        language: str | None | Unset = UNSET,
        external_id: str | None | Unset = UNSET,
        expires_at: Moment | None | Unset = UNSET,
        occurred_at: Moment | None | Unset = UNSET,
        wait: bool = False,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[CallOptions],
    ) -> Memory:
        """Change a memory. A new text is processed again; None clears a field."""
        body = body_of(
            content=content,
            title=title,
            type=type,
            tags=_listed(tags),
            metadata=metadata,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            language=language,
            external_id=external_id,
            expires_at=expires_at,
            occurred_at=occurred_at,
        )
        memory = self._transport.call(update_memory.request(id), Memory.from_dict, _call_options(options), body=body)
        return self._searchable(memory, wait_timeout, options) if wait else memory

    def delete(self, id: str, *, purge: bool = False, **options: Unpack[CallOptions]) -> None:  # noqa: A002
        """Delete a memory. `purge` removes it permanently at once, without retention."""
        self._transport.remove(delete_memory.request(id, purge=purge), _call_options(options))

    def file(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        start: int = 0,
        end: int | None = None,
        **options: Unpack[CallOptions],
    ) -> bytes:
        """Read the file that a memory was made from, if the project keeps files (`keep_files`).

        `start` and `end` limit it to a part: bytes from `start` to before `end`.
        """
        is_part = start > 0 or end is not None
        ranges = {"Range": f"bytes={start}-{'' if end is None else end - 1}"} if is_part else {}
        return self._transport.file(get_memory_file.request(id), _call_options(options), ranges)

    def count_matching(
        self,
        *,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        filters: Json | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> int:
        """Count the memories that `delete_matching` would delete now."""
        body = body_of(user_id=user_id, agent_id=agent_id, session_id=session_id, filters=filters, dry_run=True)
        counted = self._transport.call(
            delete_memories.request(), MatchedMemories.from_dict, _call_options(options), body=body
        )
        return counted.matched

    def delete_matching(
        self,
        *,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        filters: Json | Unset = UNSET,
        matched: int | Unset = UNSET,
        wait: bool = False,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[CallOptions],
    ) -> Job:
        """Delete all memories that meet the conditions, from the newest to the oldest.

        A large deletion goes on after the call: `wait=True` looks until it has ended, at most `wait_timeout` seconds.
        With `matched`, the number from `count_matching`, nothing is deleted if another number matches now
        (ConflictError).
        """
        body = body_of(user_id=user_id, agent_id=agent_id, session_id=session_id, filters=filters, matched=matched)
        job = self._transport.call(
            delete_memories.request(), Job.from_dict, _call_options(options), body=body, repeatable="refused"
        )
        ends_at = time.monotonic() + wait_timeout
        pause = FIRST_LOOK_SECONDS
        while wait and job.status == "processing" and time.monotonic() < ends_at:
            time.sleep(pause)
            pause = min(pause * 1.5, LOOK_SECONDS_MAX)
            job = self.job(job.id, **_call_options(options))
        return job

    def job(self, id: str, **options: Unpack[CallOptions]) -> Job:  # noqa: A002 name of the API
        """Read the progress of a deletion."""
        return self._transport.call(get_job.request(id), Job.from_dict, _call_options(options))

    def retry(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        wait: bool = False,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[WriteOptions],
    ) -> Memory:
        """Process a memory again that failed."""
        memory = self._transport.call(retry_memory.request(id), Memory.from_dict, options, repeatable="keyed")
        return self._searchable(memory, wait_timeout, options) if wait else memory

    def retry_failed(self, user_id: str | Unset = UNSET, **options: Unpack[WriteOptions]) -> int:
        """Process failed memories again, at most 1,000 per call, and return their number."""
        body = body_of(user_id=user_id)
        again = self._transport.call(
            retry_memories.request(), RetriedMemories.from_dict, options, body=body, repeatable="keyed"
        )
        return again.retried

    def graph(self, id: str, *, limit: int | Unset = UNSET, **options: Unpack[CallOptions]) -> MemoryGraph:  # noqa: A002
        """The entities of a memory, and the memories that share them, at most `limit`."""
        request = get_memory_graph.request(id, limit=limit)
        return self._transport.call(request, MemoryGraph.from_dict, _call_options(options))

    def map(
        self,
        *,
        user_id: str | Unset = UNSET,
        agent_id: str | Unset = UNSET,
        session_id: str | Unset = UNSET,
        filters: Json | Unset = UNSET,
        limit: int | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> MemoryMap:
        """Places of memories on a plane, where memories with similar meaning lie close together."""
        request = get_memory_map.request(
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            filters=json_of(filters),
            limit=limit,
        )
        return self._transport.call(request, MemoryMap.from_dict, _call_options(options))

    def relate(
        self,
        id: str,  # noqa: A002 name of the API
        memory_id: str,
        type: str,  # noqa: A002 name of the API
        **options: Unpack[CallOptions],
    ) -> list[Relation]:
        """Set the relation of a memory to another one. Returns the relations of the memory, newest first."""
        body = {"memory_id": memory_id, "type": type}
        listed = self._transport.call(
            set_relation.request(id), RelationList.from_dict, _call_options(options), body=body
        )
        return listed.data

    def forget_relation(self, id: str, memory_id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002
        """Forget the relation that `relate` has set. The server may find one again by itself."""
        self._transport.remove(forget_relation.request(id, memory_id=memory_id), _call_options(options))

    def history(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        limit: int | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> List[HistoryText | HistoryRelation]:
        """List the texts that a memory has and had, and when relations were set and removed, newest first."""

        def fetch(cursor: str | Unset) -> HistoryList:
            request = get_memory_history.request(id, limit=limit, cursor=cursor)
            return self._transport.call(request, HistoryList.from_dict, _call_options(options))

        return List(fetch)

    def erase_history(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002 name of the API
        """Erase all earlier texts of a memory for good."""
        self._transport.remove(erase_memory_history.request(id), _call_options(options))

    def search(
        self,
        query: str,
        *,
        limit: int | Unset = UNSET,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        filters: Json | Unset = UNSET,
        include_graph: bool | Unset = UNSET,
        mode: str | None | Unset = UNSET,
        min_score: float | Unset = UNSET,
        explain: bool | Unset = UNSET,
        as_of: Moment | None | Unset = UNSET,
        known_at: Moment | None | Unset = UNSET,
        time_zone: str | None | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> SearchResults:
        """Find passages, best first."""
        body = body_of(
            query=query,
            limit=limit,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            filters=filters,
            include_graph=include_graph,
            mode=mode,
            min_score=min_score,
            explain=explain,
            as_of=as_of,
            known_at=known_at,
            time_zone=time_zone,
        )
        return self._transport.call(
            search_memories.request(), SearchResults.from_dict, _call_options(options), body=body
        )

    def query(
        self,
        query: str,
        *,
        mode: str | None | Unset = UNSET,
        max_sources: int | Unset = UNSET,
        instructions: str | None | Unset = UNSET,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        filters: Json | Unset = UNSET,
        include_graph: bool | Unset = UNSET,
        as_of: Moment | None | Unset = UNSET,
        known_at: Moment | None | Unset = UNSET,
        time_zone: str | None | Unset = UNSET,
        model: str | None | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> QueryResult:
        """Answer a question from the stored memories, with sources."""
        body = _query_body(
            query,
            mode,
            max_sources,
            instructions,
            user_id,
            agent_id,
            session_id,
            filters,
            include_graph,
            as_of,
            known_at,
            time_zone,
            model,
        )
        return self._transport.call(
            query_memories.request(), QueryResult.from_dict, _call_options(options), body=body, repeatable="refused"
        )

    def query_stream(
        self,
        query: str,
        *,
        mode: str | None | Unset = UNSET,
        max_sources: int | Unset = UNSET,
        instructions: str | None | Unset = UNSET,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        filters: Json | Unset = UNSET,
        include_graph: bool | Unset = UNSET,
        as_of: Moment | None | Unset = UNSET,
        known_at: Moment | None | Unset = UNSET,
        time_zone: str | None | Unset = UNSET,
        model: str | None | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> AnswerStream:
        """Like `query`, as a stream of events."""
        body = _query_body(
            query,
            mode,
            max_sources,
            instructions,
            user_id,
            agent_id,
            session_id,
            filters,
            include_graph,
            as_of,
            known_at,
            time_zone,
            model,
        )
        response = self._transport.stream(
            query_memories.request(), _call_options(options), body={**body, "stream": True}, repeatable="refused"
        )
        return AnswerStream(response)

    def wait(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        wait_timeout: float = WAIT_SECONDS_MAX,
        **options: Unpack[CallOptions],
    ) -> Memory:
        """Wait until a memory is searchable. Raises ProcessingError, WaitTimeoutError."""
        memory = self.get(id, **options)
        return self._searchable(memory, wait_timeout, options)

    def _searchable(self, memory: Memory, wait_timeout: float, options: Any) -> Memory:
        latest = self._processed(memory, wait_timeout, options)
        if latest.status != "failed":
            return latest
        reason = latest.error.message if latest.error else "no reason"
        raise ProcessingError(f"{latest.id} could not be processed: {reason}", latest)

    def _processed(self, memory: Memory, wait_timeout: float, options: Any) -> Memory:
        ends_at = time.monotonic() + wait_timeout
        pause = FIRST_LOOK_SECONDS
        while memory.status == "processing":
            left = ends_at - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(f"{memory.id} is still being processed after {wait_timeout} s.", memory)
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, LOOK_SECONDS_MAX)
            memory = self.get(memory.id, **_call_options(options))
        return memory


def _listed(tags: Sequence[str] | None | Unset) -> Any:
    """Tags as a list. A text stays as it is, so that the server refuses it."""
    return tags if tags is None or isinstance(tags, (str, Unset)) else [*tags]


def _call_options(options: Any) -> Any:
    """The options without those of writes."""
    return {name: value for name, value in options.items() if name != "idempotency_key"}


def _query_body(
    query: str,
    mode: str | None | Unset,
    max_sources: int | Unset,
    instructions: str | None | Unset,
    user_id: str | None | Unset,
    agent_id: str | None | Unset,
    session_id: str | None | Unset,
    filters: Json | Unset,
    include_graph: bool | Unset,
    as_of: Moment | None | Unset,
    known_at: Moment | None | Unset,
    time_zone: str | None | Unset,
    model: str | None | Unset,
) -> dict[str, Any]:
    return body_of(
        query=query,
        mode=mode,
        max_sources=max_sources,
        instructions=instructions,
        user_id=user_id,
        agent_id=agent_id,
        session_id=session_id,
        filters=filters,
        include_graph=include_graph,
        as_of=as_of,
        known_at=known_at,
        time_zone=time_zone,
        model=model,
    )
