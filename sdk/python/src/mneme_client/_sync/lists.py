"""Made by sdk/generate.ts from the asynchronous half. Lists that the server gives page by page, read as one."""

from __future__ import annotations

from collections.abc import Iterator
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


class List(Generic[T]):
    """A list. Nothing is requested before it is read, and then one page at a time."""

    def __init__(self, fetch: Callable[[str | Unset], Page[T]]) -> None:
        self._fetch = fetch

    def page(self, cursor: str | None = None) -> Page[T]:
        """One page. `cursor` is that of the page before; None for the first."""
        return self._fetch(UNSET if cursor is None else cursor)

    def pages(self, cursor: str | None = None) -> Iterator[Page[T]]:
        """All pages, one after the other, from `cursor` on."""
        following = cursor
        while True:
            page = self.page(following)
            yield page
            if not page.has_more or page.cursor is None:
                return
            if page.cursor == following:
                raise InvalidAnswerError("The server sent the same page twice.")
            following = page.cursor

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in page.data:
                yield item

    def take(self, items_max: int) -> list[T]:
        """The first items, at most `items_max`."""
        items: list[T] = []
        if items_max < 1:
            return items
        for item in self:
            items.append(item)
            if len(items) >= items_max:
                break
        return items
