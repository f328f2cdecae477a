"""A retriever for LangChain. Needs langchain-core: `pip install 'mneme-client[langchain]'`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from ._async.client import AsyncMneme
from ._sync.client import Mneme
from .core.models.search_result import SearchResult
from .core.types import UNSET


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
