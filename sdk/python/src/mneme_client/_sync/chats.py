"""Made by sdk/generate.ts from the asynchronous half. Chats: conversations whose questions are answered from memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._shared import Json, Moment, body_of
from ..core.api.chats import (
    create_chat,
    delete_chat,
    get_chat_history,
    list_chats,
    list_messages,
    send_message,
    stream_message,
    update_chat,
)
from ..core.models.chat import Chat
from ..core.models.chat_history import ChatHistory
from ..core.models.chat_list import ChatList
from ..core.models.message import Message
from ..core.models.message_list import MessageList
from ..core.models.message_response import MessageResponse
from ..core.types import UNSET, Unset
from .lists import List
from .streams import AnswerStream
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions, WriteOptions


class Chats:
    """The operations on chats."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        *,
        user_id: str | None | Unset = UNSET,
        agent_id: str | None | Unset = UNSET,
        session_id: str | None | Unset = UNSET,
        title: str | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> Chat:
        """Create a chat. Its messages search the memories of its user, agent and session."""
        body = body_of(user_id=user_id, agent_id=agent_id, session_id=session_id, title=title)
        return self._transport.call(create_chat.request(), Chat.from_dict, options, body=body, repeatable="keyed")

    def list(
        self,
        *,
        limit: int | Unset = UNSET,
        user_id: str | Unset = UNSET,
        agent_id: str | Unset = UNSET,
        session_id: str | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> List[Chat]:
        """List chats, newest first."""

        def fetch(cursor: str | Unset) -> ChatList:
            request = list_chats.request(
                limit=limit, cursor=cursor, user_id=user_id, agent_id=agent_id, session_id=session_id
            )
            return self._transport.call(request, ChatList.from_dict, options)

        return List(fetch)

    def get(self, id: str, **options: Unpack[CallOptions]) -> ChatHistory:  # noqa: A002 name of the API
        """Read a chat with all its messages, oldest first."""
        return self._transport.call(get_chat_history.request(id), ChatHistory.from_dict, options)

    def update(self, id: str, *, title: str | None, **options: Unpack[CallOptions]) -> Chat:  # noqa: A002
        """Change the title of a chat; None removes it."""
        return self._transport.call(update_chat.request(id), Chat.from_dict, options, body={"title": title})

    def delete(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002 name of the API
        """Delete a chat and its messages permanently."""
        self._transport.remove(delete_chat.request(id), options)

    def messages(self, id: str, *, limit: int | Unset = UNSET, **options: Unpack[CallOptions]) -> List[Message]:  # noqa: A002
        """List the messages of a chat, oldest first."""

        def fetch(cursor: str | Unset) -> MessageList:
            request = list_messages.request(id, limit=limit, cursor=cursor)
            return self._transport.call(request, MessageList.from_dict, options)

        return List(fetch)

    def send(
        self,
        id: str,  # noqa: A002 name of the API
        message: str,
        *,
        mode: str | None | Unset = UNSET,
        instructions: str | None | Unset = UNSET,
        max_sources: int | Unset = UNSET,
        filters: Json | Unset = UNSET,
        as_of: Moment | None | Unset = UNSET,
        time_zone: str | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> Message:
        """Send a message and wait for the complete answer."""
        body = _message_body(message, mode, instructions, max_sources, filters, as_of, time_zone)
        response = self._transport.call(
            send_message.request(id), MessageResponse.from_dict, options, body=body, repeatable="keyed"
        )
        return response.message

    def stream(
        self,
        id: str,  # noqa: A002 name of the API
        message: str,
        *,
        mode: str | None | Unset = UNSET,
        instructions: str | None | Unset = UNSET,
        max_sources: int | Unset = UNSET,
        filters: Json | Unset = UNSET,
        as_of: Moment | None | Unset = UNSET,
        time_zone: str | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> AnswerStream:
        """Send a message and receive the answer as a stream of events."""
        body = _message_body(message, mode, instructions, max_sources, filters, as_of, time_zone)
        response = self._transport.stream(stream_message.request(id), options, body=body, repeatable="keyed")
        return AnswerStream(response)


def _message_body(
    message: str,
    mode: str | None | Unset,
    instructions: str | None | Unset,
    max_sources: int | Unset,
    filters: Json | Unset,
    as_of: Moment | None | Unset,
    time_zone: str | None | Unset,
) -> dict[str, Any]:
    return body_of(
        message=message,
        mode=mode,
        instructions=instructions,
        max_sources=max_sources,
        filters=filters,
        as_of=as_of,
        time_zone=time_zone,
    )
