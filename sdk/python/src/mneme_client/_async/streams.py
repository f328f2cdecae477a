"""Streamed answers: the events of queries and chat messages, and the chunks of chat completions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, NoReturn, Union

import httpx

from .._shared import BrokenStreamError, EventDecoder, SentEvent
from ..core.models.chat_completion_chunk import ChatCompletionChunk
from ..core.models.done_event import DoneEvent
from ..core.models.query_result import QueryResult
from ..core.models.sources_event import SourcesEvent
from ..core.models.text_event import TextEvent
from ..core.models.usage_event import UsageEvent
from ..errors import MnemeError, StreamError, api_error
from .transport import AsyncClosing

#: An event of a streamed answer. Failures are raised, so that no event stands for one.
AnswerEvent = Union[TextEvent, SourcesEvent, UsageEvent, DoneEvent]

_EVENTS: dict[str, Any] = {"text": TextEvent, "sources": SourcesEvent, "usage": UsageEvent, "done": DoneEvent}


class _AsyncReader(AsyncClosing):
    """A stream that can be read once. Closing it ends the connection, and with it the work of the server."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._is_read = False
        self._text = ""
        #: Id of the request in the server's log.
        self.request_id: str | None = response.headers.get("x-request-id")

    async def aclose(self) -> None:
        """End the connection."""
        self._is_read = True
        await self._response.aclose()

    async def _sent(self) -> AsyncIterator[SentEvent]:
        if self._is_read:
            raise MnemeError("A stream can be read only once.")
        self._is_read = True
        decoder = EventDecoder()
        try:
            async for data in self._response.aiter_bytes():
                for event in decoder.feed(data):
                    yield event
            raise BrokenStreamError("it ended before the answer was complete")
        except (httpx.HTTPError, httpx.StreamError, BrokenStreamError) as error:
            raise StreamError(f"The stream broke off: {error}.", self._text) from error
        finally:
            await self._response.aclose()

    def _parsed(self, data: str) -> Any:
        try:
            return json.loads(data)
        except ValueError as error:
            raise self._damaged(data) from error

    def _damaged(self, data: str) -> StreamError:
        return StreamError(f"The stream has a damaged event: {data[:100]}", self._text)

    def _fail(self, body: Any) -> NoReturn:
        raise api_error(500, body, self.request_id)


class AsyncAnswerStream(_AsyncReader):
    """The answer to a query or a chat message, as it is written."""

    async def __aiter__(self) -> AsyncIterator[AnswerEvent]:
        try:
            async for name, data in self._sent():
                event = self._event_of(name, data)
                if event is None:
                    continue
                if isinstance(event, TextEvent):
                    self._text += event.data.content
                yield event
                if isinstance(event, DoneEvent):
                    break
        finally:
            await self._response.aclose()

    async def result(self) -> QueryResult:
        """Read the rest, and return the whole answer."""
        whole: dict[str, Any] = {"answer": "", "sources": [], "usage": {"tokens_used": 0}}
        async for event in self:
            if isinstance(event, TextEvent):
                whole["answer"] += event.data.content
            elif isinstance(event, (SourcesEvent, UsageEvent)):
                whole[event.event] = event.to_dict()["data"]
        for name in whole["usage"].keys() & {"answer_state", "evidence"}:
            whole[name] = whole["usage"].pop(name)
        return QueryResult.from_dict(whole)

    def _event_of(self, name: str, data: str) -> AnswerEvent | None:
        if name == "error":
            self._fail(self._parsed(data))
        kind = _EVENTS.get(name)
        # a newer server can have more events
        if kind is None:
            return None
        try:
            event: AnswerEvent = kind.from_dict({"event": name, "data": self._parsed(data)})
            if isinstance(event, TextEvent) and not isinstance(event.data.content, str):
                raise TypeError("content")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(f"{name} {data}") from error
        return event


class AsyncCompletionStream(_AsyncReader):
    """A chat completion, as it is written."""

    async def __aiter__(self) -> AsyncIterator[ChatCompletionChunk]:
        try:
            async for _, data in self._sent():
                if data == "[DONE]":
                    break
                body = self._parsed(data)
                if isinstance(body, dict) and "error" in body:
                    self._fail(body)
                try:
                    chunk = ChatCompletionChunk.from_dict(body)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise self._damaged(data) from error
                self._text += "".join(choice.delta.content or "" for choice in chunk.choices)
                yield chunk
        finally:
            await self._response.aclose()
