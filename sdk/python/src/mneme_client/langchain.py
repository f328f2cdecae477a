"""A retriever and a key-value store for LangChain: `pip install 'mneme-client[langchain]'`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import BaseStore
from langgraph.store.base import GetOp, PutOp
from pydantic import ConfigDict, Field

from ._async.client import AsyncMneme
from ._sync.client import Mneme
from .core.models.search_result import SearchResult
from .core.types import UNSET
from .langgraph import MnemeStore


class MnemeRetriever(BaseRetriever):
    """Finds passages of the stored memories, best first.

    A document has the passage as content and the id of the passage as id. Its metadata are those of the memory, with
    `memory_id`, `score`, `title`, and the place of the passage (`start`, `end`, `page`, …) under `chunk`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    #: Client of synchronous calls. Default: one with the settings of the environment.
    client: Mneme = Field(default_factory=Mneme)
    #: Client of asynchronous calls. Default: one with the settings of the environment, for each call.
    async_client: Optional[AsyncMneme] = None  # noqa: UP045 read at run time, also by Python 3.9
    #: Maximum number of passages.
    k: int = Field(default=5, ge=1, le=100)
    #: The user whose memories are searched. Default: all.
    user_id: Optional[str] = None  # noqa: UP045
    #: The agent whose memories are searched. Default: all.
    agent_id: Optional[str] = None  # noqa: UP045
    #: The session whose memories are searched. Default: all.
    session_id: Optional[str] = None  # noqa: UP045
    #: Further conditions; docs of the server describe them.
    filters: Optional[dict[str, Any]] = None  # noqa: UP045
    #: `fast`, `hybrid`, `balanced` or `precise`. Default: that of the project.
    mode: Optional[str] = None  # noqa: UP045
    #: Passages with a lower score are left out.
    min_score: Optional[float] = None  # noqa: UP045

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        found = self.client.memories.search(query, **self._parameters(kwargs))
        return [_document(result) for result in found.results]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        parameters = self._parameters(kwargs)
        if self.async_client is not None:
            found = await self.async_client.memories.search(query, **parameters)
        else:
            async with AsyncMneme() as client:
                found = await client.memories.search(query, **parameters)
        return [_document(result) for result in found.results]

    def _parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of the search: those of this call, else those of the retriever."""
        known = {"k", "user_id", "agent_id", "session_id", "filters", "mode", "min_score"}
        if not known.issuperset(given):
            # a misspelt scope or filter must not search everything
            raise TypeError(f"Unknown arguments: {', '.join(sorted(set(given) - known))}")
        chosen = {name: given.get(name, getattr(self, name)) for name in known}
        limit = chosen.pop("k")
        return {"limit": limit, **{name: UNSET if value is None else value for name, value in chosen.items()}}


def _document(result: SearchResult) -> Document:
    metadata = result.metadata
    return Document(
        id=result.id,
        page_content=result.content,
        metadata={
            **metadata.additional_properties,
            "memory_id": result.memory_id,
            "score": result.score,
            "title": metadata.memory.title,
            "chunk": metadata.chunk.to_dict(),
        },
    )


class MnemeKeyValueStore(BaseStore[str, Any]):
    """Keeps JSON values by key, each in a memory that no search of a MnemeStore with a query finds.

    `namespace` keeps the keys of several stores apart.
    """

    def __init__(
        self, client: Mneme | None = None, *, user_id: str | None = None, namespace: Sequence[str] = ("values",)
    ) -> None:
        self._store = MnemeStore(client, user_id=user_id)
        self._namespace = tuple(namespace)

    def mget(self, keys: Sequence[str]) -> list[Any]:
        """The values of the keys; None for a key without one."""
        items = self._store.batch([GetOp(self._namespace, key) for key in keys])
        return [None if item is None else item.value["value"] for item in items]

    def mset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        """Store values, each under its key."""
        self._store.batch(
            [PutOp(self._namespace, key, {"value": value}, index=False) for key, value in key_value_pairs]
        )

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete values. Keys without a value do not matter."""
        self._store.batch([PutOp(self._namespace, key, None) for key in keys])

    def yield_keys(self, *, prefix: Optional[str] = None) -> Iterator[str]:  # noqa: UP045
        """All keys, or those that begin with `prefix`."""
        for item in self._store.search(self._namespace, limit=sys.maxsize):
            if item.namespace == self._namespace and item.key.startswith(prefix or ""):
                yield item.key
