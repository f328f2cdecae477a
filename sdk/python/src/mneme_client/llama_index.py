"""A retriever and a memory block for LlamaIndex: `pip install 'mneme-client[llama-index]'`."""

from __future__ import annotations

import json
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.memory.memory import BaseMemoryBlock
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from ._async.client import AsyncMneme
from ._shared import Json
from ._sync.client import Mneme
from .core.models.search_result import SearchResult
from .core.types import UNSET

#: Longest query that the server takes.
_QUERY_CHARACTERS_MAX = 8_192
#: Approximate length of a token of English text.
_CHARACTERS_PER_TOKEN = 4
#: Metadata that say where a node is from. They are of no use to a model.
_ADDRESSES = ["memory_id", "chunk"]


class MnemeRetriever(BaseRetriever):
    """Finds passages of the stored memories, best first.

    A node has the passage as text, and its id; its source is the memory. Its metadata are those of the memory, with
    `memory_id`, `title`, and the place of the passage (`start`, `end`, `page`, …) under `chunk`.
    """

    def __init__(
        self,
        client: Mneme | None = None,
        *,
        async_client: AsyncMneme | None = None,
        similarity_top_k: int = 5,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        filters: Json | None = None,
        mode: str | None = None,
        min_score: float | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        """Make a retriever.

        `client` and `async_client` default to clients with the settings of the environment; the asynchronous one is
        then made for each call. Without `user_id`, `agent_id` and `session_id`, the memories of all are searched.
        `filters` are further conditions, `mode` is `fast`, `hybrid`, `balanced` or `precise`. Passages with a lower
        score than `min_score` are left out.
        """
        if not 1 <= similarity_top_k <= 100:
            raise ValueError(f"similarity_top_k must be from 1 to 100, not {similarity_top_k}")
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._client = client
        self._async_client = async_client
        chosen = {
            "user_id": user_id,
            "agent_id": agent_id,
            "session_id": session_id,
            "filters": filters,
            "mode": mode,
            "min_score": min_score,
        }
        self._parameters = {"limit": similarity_top_k, **_given(chosen)}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._client is None:
            self._client = Mneme()
        found = self._client.memories.search(query_bundle.query_str, **self._parameters)
        return [_node(result) for result in found.results]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._async_client is not None:
            found = await self._async_client.memories.search(query_bundle.query_str, **self._parameters)
        else:
            async with AsyncMneme() as client:
                found = await client.memories.search(query_bundle.query_str, **self._parameters)
        return [_node(result) for result in found.results]


class MnemeMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of LlamaIndex' `Memory`.

    Messages that leave the short-term memory are stored as one conversation of the user. For the newest message of the
    user, the passages that fit best come back, from all sessions of the user, or from this one only.
    """

    name: str = Field(default="mneme", description="Name of the block in the prompt.")
    user_id: str = Field(description="The user whose memories these are.")
    agent_id: str | None = Field(default=None, description="The agent whose memories these are. Default: any.")
    of_session: bool = Field(default=False, description="Whether only memories of the same session come back.")
    similarity_top_k: int = Field(default=5, ge=1, le=100, description="Maximum number of passages.")
    mode: str | None = Field(default=None, description="Mode of the search. Default: that of the project.")
    min_score: float | None = Field(default=None, description="Passages with a lower score are left out.")
    wait: bool = Field(default=False, description="Whether storing waits until the messages can be found.")
    _client: AsyncMneme | None = PrivateAttr(default=None)

    def __init__(self, *, client: AsyncMneme | None = None, **settings: Any) -> None:
        """Make a block. Without a `client`, one with the settings of the environment is made for each call."""
        super().__init__(**settings)
        self._client = client

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **block_kwargs: Any
    ) -> str:
        asked = [message for message in messages or [] if message.role == MessageRole.USER and _text(message)]
        if not asked:
            return ""
        scope = {
            "agent_id": self.agent_id,
            "session_id": session_id if self.of_session else None,
            "mode": self.mode,
            "min_score": self.min_score,
        }
        parameters = {"user_id": self.user_id, "limit": self.similarity_top_k, **_given(scope)}
        found = await self._call("search", _text(asked[-1])[-_QUERY_CHARACTERS_MAX:], **parameters)
        return "\n\n".join(result.content for result in found.results)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        said = [
            {"role": message.role.value, "content": _text(message)}
            for message in messages
            if message.role in (MessageRole.USER, MessageRole.ASSISTANT) and _text(message)
        ]
        if not said:
            return
        sessions = [message.additional_kwargs.get("session_id") for message in messages]
        place = {"agent_id": self.agent_id, "session_id": next((each for each in sessions if each), None)}
        content = json.dumps(said, ensure_ascii=False)
        await self._call("add", content, user_id=self.user_id, wait=self.wait, **_given(place))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out passages, the worst first, until about `tokens_to_truncate` tokens are saved."""
        passages = content.split("\n\n")
        saved = 0
        while passages and saved < tokens_to_truncate:
            saved += 1 + len(passages.pop()) // _CHARACTERS_PER_TOKEN
        return "\n\n".join(passages) or None

    async def _call(self, method: str, *positional: Any, **named: Any) -> Any:
        if self._client is not None:
            return await getattr(self._client.memories, method)(*positional, **named)
        async with AsyncMneme() as client:
            return await getattr(client.memories, method)(*positional, **named)


def _given(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters, with UNSET in place of None."""
    return {name: UNSET if value is None else value for name, value in parameters.items()}


def _text(message: ChatMessage) -> str:
    return (message.content or "").strip()


def _node(result: SearchResult) -> NodeWithScore:
    metadata = result.metadata
    node = TextNode(
        id_=result.id,
        text=result.content,
        metadata={
            **metadata.additional_properties,
            "memory_id": result.memory_id,
            "title": metadata.memory.title,
            "chunk": metadata.chunk.to_dict(),
        },
        excluded_llm_metadata_keys=_ADDRESSES,
        excluded_embed_metadata_keys=_ADDRESSES,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=result.memory_id)},
    )
    return NodeWithScore(node=node, score=result.score)
