"""The users of the caller's application, and events that are logged for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._shared import Json, body_of
from ..core.api.users import create_event, delete_user, get_profile, get_user, list_events, list_users, upsert_user
from ..core.models.event import Event
from ..core.models.event_list import EventList
from ..core.models.profile import Profile
from ..core.models.user import User
from ..core.models.user_list import UserList
from ..core.types import UNSET, Unset
from .lists import AsyncList
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions, WriteOptions


class AsyncUsers:
    """The operations on users."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upsert(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        name: str | None | Unset = UNSET,
        email: str | None | Unset = UNSET,
        metadata: Json | None | Unset = UNSET,
        time_zone: str | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> User:
        """Create a user, or change one: a field that is not given stays, None clears it."""
        body = body_of(id=id, name=name, email=email, metadata=metadata, time_zone=time_zone)
        return await self._transport.call(upsert_user.request(), User.from_dict, options, body=body, repeatable="keyed")

    def list(self, *, limit: int | Unset = UNSET, **options: Unpack[CallOptions]) -> AsyncList[User]:
        """List users, newest first."""

        async def fetch(cursor: str | Unset) -> UserList:
            request = list_users.request(limit=limit, cursor=cursor)
            return await self._transport.call(request, UserList.from_dict, options)

        return AsyncList(fetch)

    async def get(self, id: str, **options: Unpack[CallOptions]) -> User:  # noqa: A002 name of the API
        """Read a user."""
        return await self._transport.call(get_user.request(id), User.from_dict, options)

    async def profile(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        max_tokens: int | Unset = UNSET,
        agent_id: str | Unset = UNSET,
        session_id: str | Unset = UNSET,
        time_zone: str | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> Profile:
        """Read what is known of a user: facts that hold now, preferences, people and events."""
        request = get_profile.request(
            id, max_tokens=max_tokens, agent_id=agent_id, session_id=session_id, time_zone=time_zone
        )
        return await self._transport.call(request, Profile.from_dict, options)

    async def delete(self, id: str, *, cascade: bool = False, **options: Unpack[CallOptions]) -> None:  # noqa: A002
        """Delete a user; with `cascade` also the user's memories, chats and events."""
        await self._transport.remove(delete_user.request(id, cascade=cascade), options)

    async def add_event(
        self,
        id: str,  # noqa: A002 name of the API
        type: str,  # noqa: A002 name of the API
        data: Json | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> Event:
        """Log an event for a user."""
        return await self._transport.call(
            create_event.request(id), Event.from_dict, options, body=body_of(type=type, data=data), repeatable="keyed"
        )

    def events(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        type: str | Unset = UNSET,  # noqa: A002 name of the API
        limit: int | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> AsyncList[Event]:
        """List the events of a user, newest first."""

        async def fetch(cursor: str | Unset) -> EventList:
            request = list_events.request(id, limit=limit, cursor=cursor, type_=type)
            return await self._transport.call(request, EventList.from_dict, options)

        return AsyncList(fetch)
