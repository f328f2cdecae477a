"""Lists that the server gives page by page, read as one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Callable, Generic, Protocol, TypeVar

from ..core.types import UNSET, Unset
from ..errors import InvalidAnswerError

T = TypeVar("T")
Item = TypeVar("Item")


class Page(Protocol[Item]):
    """One page of a list."""

    data: list[Item]
    has_more: bool
    #: Where the next page begins; None on the last page.
    cursor: str | None


class AsyncList(Generic[T]):
    """A list. Nothing is requested before it is read, and then one page at a time."""

    def __init__(self, fetch: Callable[[str | Unset], Awaitable[Page[T]]]) -> None:
        self._fetch = fetch

    async def page(self, cursor: str | None = None) -> Page[T]:
        """One page. `cursor` is that of the page before; None for the first."""
        return await self._fetch(UNSET if cursor is None else cursor)

    async def pages(self, cursor: str | None = None) -> AsyncIterator[Page[T]]:
        """All pages, one after the other, from `cursor` on."""
        following = cursor
        while True:
            page = await self.page(following)
            yield page
            if not page.has_more or page.cursor is None:
                return
            if page.cursor == following:
                raise InvalidAnswerError("The server sent the same page twice.")
            following = page.cursor

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.data:
                yield item

    async def take(self, items_max: int) -> list[T]:
        """The first items, at most `items_max`."""
        items: list[T] = []
        if items_max < 1:
            return items
        async for item in self:
            items.append(item)
            if len(items) >= items_max:
                break
        return items
