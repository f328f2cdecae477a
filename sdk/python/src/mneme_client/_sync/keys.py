"""Made by sdk/generate.ts from the asynchronous half. API keys of a project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._shared import Moment, body_of
from ..core.api.keys import create_key, delete_key, get_current_key, list_keys, rotate_key, update_key
from ..core.models.current_key import CurrentKey
from ..core.models.key import Key
from ..core.models.key_list import KeyList
from ..core.models.key_with_secret import KeyWithSecret
from ..core.types import UNSET, Unset
from .lists import List
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions, WriteOptions


class Keys:
    """The operations on keys. Those of another project (`project_id`) need the scope `admin`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        name: str,
        scopes: Sequence[str],
        *,
        user_id: str | None | Unset = UNSET,
        expires_at: Moment | None | Unset = UNSET,
        project_id: str | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> KeyWithSecret:
        """Create a key. Only this answer contains its secret."""
        body = body_of(name=name, scopes=[*scopes], user_id=user_id, expires_at=expires_at, project_id=project_id)
        return self._transport.call(
            create_key.request(), KeyWithSecret.from_dict, options, body=body, repeatable="keyed"
        )

    def list(
        self, *, limit: int | Unset = UNSET, project_id: str | Unset = UNSET, **options: Unpack[CallOptions]
    ) -> List[Key]:
        """List keys, newest first."""

        def fetch(cursor: str | Unset) -> KeyList:
            request = list_keys.request(limit=limit, cursor=cursor, project_id=project_id)
            return self._transport.call(request, KeyList.from_dict, options)

        return List(fetch)

    def current(self, **options: Unpack[CallOptions]) -> CurrentKey:
        """Read the key of this client: what it may do, and in which project. Any key may ask."""
        return self._transport.call(get_current_key.request(), CurrentKey.from_dict, options)

    def update(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        name: str | Unset = UNSET,
        scopes: Sequence[str] | Unset = UNSET,
        expires_at: Moment | None | Unset = UNSET,
        project_id: str | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> Key:
        """Change name, scopes or expiry of a key; None removes the expiry."""
        chosen = scopes if isinstance(scopes, Unset) else [*scopes]
        body = body_of(name=name, scopes=chosen, expires_at=expires_at)
        request = update_key.request(id, project_id=project_id)
        return self._transport.call(request, Key.from_dict, options, body=body)

    def delete(self, id: str, *, project_id: str | Unset = UNSET, **options: Unpack[CallOptions]) -> None:  # noqa: A002
        """Revoke a key at once."""
        self._transport.remove(delete_key.request(id, project_id=project_id), options)

    def rotate(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        grace_seconds: int | Unset = UNSET,
        project_id: str | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> KeyWithSecret:
        """Give a key a new secret. The old one stays valid for `grace_seconds`, 0 by default."""
        request = rotate_key.request(id, project_id=project_id)
        body = body_of(grace_seconds=grace_seconds)
        return self._transport.call(request, KeyWithSecret.from_dict, options, body=body, repeatable="refused")
