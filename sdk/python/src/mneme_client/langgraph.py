"""A store for LangGraph. Needs langgraph-checkpoint: `pip install 'mneme-client[langgraph]'`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
)

from ._async.client import AsyncMneme
from ._shared import WAIT_SECONDS_MAX
from ._sync.client import Mneme
from .core.models.memory import Memory
from .core.models.search_result import SearchResult
from .core.types import UNSET
from .errors import NotFoundError, ProcessingError

#: Maximum number of passages of one search of the server, and of memories in one batch.
_SERVER_MAX = 100
_TAG_CHARACTERS_MAX = 256
_TITLE_CHARACTERS_MAX = 80
#: Largest integer that JSON has exactly on every server.
_INTEGER_MAX = 2**53 - 1
#: Member of `metadata` with the item.
_MEMBER = "langgraph"


class MnemeStore(BaseStore):
    """Keeps the items of a LangGraph application as memories, and finds them by meaning.

    An item is one memory: its value is in the memory's metadata, and what can be found of it, in the content. A value
    can have about 9 KB as JSON. `put` returns when the item can be found; it takes about as long as embedding the text.

    - `search` with a query returns the best items, with scores; `limit` and `offset` can be 100 together.
    - `search` without a query returns the newest items first. `filter` compares numbers with numbers and texts with
      texts; values of other types do not match `$gt`, `$gte`, `$lt` and `$lte`.
    - `index=False` keeps an item out of searches with a query. `index=["field"]` finds it by these fields only.
    - Items do not expire: `ttl` is refused.
    """

    def __init__(
        self,
        client: Mneme | None = None,
        *,
        async_client: AsyncMneme | None = None,
        user_id: str | None = None,
        fields: Sequence[str] = ("$",),
        mode: str | None = None,
        wait_timeout: float = WAIT_SECONDS_MAX,
    ) -> None:
        """Make a store.

        `client` and `async_client` default to clients with the settings of the environment; the asynchronous one is
        then made for each call. All items belong to the user `user_id`, and items of other users are not seen. `fields`
        are the paths of a value by which items are found; `$` is all of it. `mode` is that of searches.
        """
        super().__init__()
        self._client = client
        self._async_client = async_client
        self._user_id = user_id
        self._fields = tuple(fields)
        self._mode = mode
        self._wait_timeout = wait_timeout

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        if self._client is None:
            self._client = Mneme()
        memories = self._client.memories
        steps = self._steps([*ops])
        answer: Any = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(request, _Scan):
                answer = []
                for memory in memories.list(limit=_SERVER_MAX, **request.conditions):
                    if not request.keep(memory, answer):
                        break
                continue
            try:
                answer = getattr(memories, request.method)(*request.positional, **request.named)
            except NotFoundError:
                answer = None

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        if self._async_client is None:
            async with AsyncMneme() as client:
                return await self._abatch([*ops], client)
        return await self._abatch([*ops], self._async_client)

    async def _abatch(self, ops: Sequence[Op], client: AsyncMneme) -> list[Result]:
        memories = client.memories
        steps = self._steps(ops)
        answer: Any = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(request, _Scan):
                answer = []
                async for memory in memories.list(limit=_SERVER_MAX, **request.conditions):
                    if not request.keep(memory, answer):
                        break
                continue
            try:
                answer = await getattr(memories, request.method)(*request.positional, **request.named)
            except NotFoundError:
                answer = None

    def _steps(self, ops: Sequence[Op]) -> Steps:
        """Everything that a batch asks of the server, in order. Reads see the state before the batch."""
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            result: Result = None
            if isinstance(op, GetOp):
                result = yield from self._get(op)
            elif isinstance(op, SearchOp):
                result = yield from (self._search if (op.query or "").strip() else self._list)(op)
            elif isinstance(op, ListNamespacesOp):
                result = yield from self._namespaces(op)
            elif isinstance(op, PutOp):
                puts[(op.namespace, op.key)] = op
            else:
                raise TypeError(f"Unknown operation: {type(op).__name__}")
            results.append(result)
        yield from self._write([*puts.values()])
        return results

    def _get(self, op: GetOp) -> Steps:
        memory = yield from self._find(op.namespace, op.key)
        return None if memory is None else _item(memory)

    def _find(self, namespace: tuple[str, ...], key: str) -> Steps:
        found = yield self._scan(_address(namespace, key), 1)
        return found[0] if found else None

    def _scan(self, tag: str, items_max: int | None, accepts: Callable[[Any], bool] = lambda _: True) -> _Scan:
        """The store's own memories with a tag, newest first."""

        def is_own(memory: Memory) -> bool:
            kept = _kept(memory.metadata)
            return kept is not None and kept["user"] == self._user_id and accepts(kept)

        return _Scan({"tag": tag, "user_id": _or_unset(self._user_id)}, is_own, items_max)

    def _list(self, op: SearchOp) -> Steps:
        if op.limit < 1:
            return []
        wanted = op.offset + op.limit
        found = yield self._scan(_tag(op.namespace_prefix), wanted, lambda kept: _matches(kept["value"], op.filter))
        return [SearchItem(**_fields(memory)) for memory in found[op.offset :]]

    def _search(self, op: SearchOp) -> Steps:
        if op.limit < 1:
            return []
        wanted = op.offset + op.limit
        if wanted > _SERVER_MAX:
            raise ValueError(f"offset and limit can be {_SERVER_MAX} together in a search with a query, not {wanted}")
        filters = {
            "tags": _tag(op.namespace_prefix),
            f"metadata.{_MEMBER}.user": self._user_id,
            f"metadata.{_MEMBER}.indexed": True,
            **_server_conditions(op.filter),
        }
        items: dict[str, SearchItem] = {}
        # several passages can be of one item, and the server does not know all conditions
        for limit in sorted({min(_SERVER_MAX, 2 * wanted), _SERVER_MAX}):
            found = yield _Call(
                "search",
                (op.query,),
                {
                    "limit": limit,
                    "user_id": _or_unset(self._user_id),
                    "filters": filters,
                    "mode": _or_unset(self._mode),
                },
            )
            for result in found.results:
                kept = _kept(result.metadata)
                if kept is not None and result.memory_id not in items and _matches(kept["value"], op.filter):
                    items[result.memory_id] = _found(kept, result)
            if len(items) >= wanted or len(found.results) < limit:
                break
        return [*items.values()][op.offset : wanted]

    def _namespaces(self, op: ListNamespacesOp) -> Steps:
        conditions = op.match_conditions or ()
        seen: set[tuple[str, ...]] = set()

        def collects(kept: Any) -> bool:
            namespace = tuple(kept["namespace"])
            if all(_is_matched(condition, namespace) for condition in conditions):
                seen.add(namespace[: op.max_depth])
            return False

        yield self._scan(_tag(_common_prefix(conditions)), None, collects)
        return sorted(seen)[op.offset : op.offset + op.limit]

    def _write(self, puts: Sequence[PutOp]) -> Steps:
        drafts = []
        for op in puts:
            if op.value is None:
                memory = yield from self._find(op.namespace, op.key)
                if memory is not None:
                    yield _Call("delete", (memory.id,))
            else:
                drafts.append(self._draft(op))
        for at in range(0, len(drafts), _SERVER_MAX):
            part = drafts[at : at + _SERVER_MAX]
            if len(part) > 1:
                waiting = {"wait": True, "wait_timeout": self._wait_timeout}
                stored = yield _Call("add_many", ([_body(draft) for draft in part],), waiting)
                part = [draft for draft, item in zip(part, stored.data) if _is_unfinished(item)]
            for draft in part:  # one by one, so that a refusal is an error of its class
                yield _Call("add", (), {**draft, "wait": True, "wait_timeout": self._wait_timeout})

    def _draft(self, op: PutOp) -> dict[str, Any]:
        value = dict(op.value or {})
        _check(value)
        paths = self._fields if op.index is None else (op.index or ())
        text = _text(value, paths)
        kept = {
            "namespace": [*op.namespace],
            "key": op.key,
            "value": value,
            "user": self._user_id,
            "indexed": text != "",
        }
        address = _address(op.namespace, op.key)
        prefixes = [_tag(op.namespace[:depth]) for depth in range(len(op.namespace) + 1)]
        shown = text or op.key.strip() or "An item without a text"
        return {
            "content": shown,
            "title": shown.strip().splitlines()[0][:_TITLE_CHARACTERS_MAX],
            "type": _MEMBER,
            "tags": [address, *prefixes],
            "metadata": {_MEMBER: kept},
            "user_id": _or_unset(self._user_id),
            "external_id": address,
        }


@dataclass(frozen=True)
class _Call:
    """A method of `memories` to call. The answer is None if a memory is not there."""

    method: str
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Scan:
    """A list to read until `items_max` memories are accepted. The answer is these memories."""

    conditions: Mapping[str, Any]
    accepts: Callable[[Memory], bool]
    items_max: int | None

    def keep(self, memory: Memory, kept: list[Memory]) -> bool:
        """Adds a memory if it is accepted. Returns whether more are wanted."""
        if self.accepts(memory):
            kept.append(memory)
        return self.items_max is None or len(kept) < self.items_max


Steps = Generator["_Call | _Scan", Any, Any]


def _or_unset(value: str | None) -> Any:
    return UNSET if value is None else value


def _kept(metadata: Any) -> Any:
    """What the store keeps of an item; None if the memory is none of a store's items."""
    kept = metadata.additional_properties.get(_MEMBER) if metadata else None
    return kept if isinstance(kept, dict) and {"namespace", "key", "value", "user"} <= kept.keys() else None


def _fields(memory: Memory) -> dict[str, Any]:
    kept = _kept(memory.metadata)
    return {
        "namespace": tuple(kept["namespace"]),
        "key": kept["key"],
        "value": kept["value"],
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    }


def _item(memory: Memory) -> Item:
    return Item(**_fields(memory))


def _found(kept: Any, result: SearchResult) -> SearchItem:
    about = result.metadata.memory
    return SearchItem(
        namespace=tuple(kept["namespace"]),
        key=kept["key"],
        value=kept["value"],
        created_at=about.created_at,
        updated_at=about.updated_at or about.created_at,
        score=result.score,
    )


def _body(draft: Mapping[str, Any]) -> dict[str, Any]:
    """A draft with the names of the API."""
    names = {"user_id": "userId", "external_id": "externalId"}
    return {names.get(name, name): value for name, value in draft.items()}


def _is_unfinished(item: Any) -> bool:
    """Whether an item of a batch was refused. Raises ProcessingError if it could not be processed."""
    memory = getattr(item, "memory", None)
    if isinstance(memory, Memory) and memory.status == "failed":
        reason = memory.error.message if memory.error else "no reason"
        raise ProcessingError(f"{memory.id} could not be processed: {reason}", memory)
    return memory is None


def _address(namespace: Sequence[str], key: str) -> str:
    """Tag and external id of an item. JSON keeps the labels and the key apart."""
    path = json.dumps([*namespace, key], ensure_ascii=True)
    return f"{_MEMBER}-item:{hashlib.sha256(path.encode()).hexdigest()}"


def _tag(prefix: Sequence[str]) -> str:
    """Tag of all items in a namespace and below."""
    path = ".".join(label.replace("%", "%25").replace(".", "%2E") for label in prefix)
    tag = f"{_MEMBER}:{path}"
    if len(tag) <= _TAG_CHARACTERS_MAX:
        return tag
    return f"{_MEMBER}-below:{hashlib.sha256(path.encode()).hexdigest()}"


def _check(value: Any) -> None:
    """Raises ValueError or TypeError for what JSON would change."""
    try:
        json.dumps(value, allow_nan=False)
    except TypeError as error:
        raise TypeError(f"A value must consist of what JSON has: {error}") from error
    if isinstance(value, dict):
        unnamed = next((name for name in value if not isinstance(name, str)), None)
        if unnamed is not None:
            raise TypeError(f"The names in a value must be texts, not {unnamed!r}")
        for part in value.values():
            _check(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _check(part)
    elif isinstance(value, int) and abs(value) > _INTEGER_MAX:
        raise ValueError(f"{value} is too large for a number in JSON: store it as a text")


def _text(value: Mapping[str, Any], paths: Iterable[str]) -> str:
    """The text by which an item is found; empty if there is none."""
    parts: list[str] = []
    for path in paths:
        parts.extend(_lines(value) if path == "$" else get_text_at_path(value, tokenize_path(path)))
    return "\n".join(part for part in parts if part.strip())


def _lines(value: Mapping[str, Any]) -> list[str]:
    """All of a value as lines `name: value`; without the name if there is only one."""
    leaves = [*_leaves(value, "")]
    return [leaves[0][1]] if len(leaves) == 1 else [f"{name}: {leaf}" for name, leaf in leaves]


def _leaves(value: Any, name: str) -> Generator[tuple[str, str], None, None]:
    if isinstance(value, Mapping):
        for inner, part in value.items():
            yield from _leaves(part, f"{name} {inner}".strip())
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part, name)
    elif value is not None and str(value).strip():
        yield name, str(value)


#: What `$gt` and the like say of two numbers or two texts.
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda value, bound: value > bound,
    "$gte": lambda value, bound: value >= bound,
    "$lt": lambda value, bound: value < bound,
    "$lte": lambda value, bound: value <= bound,
}


def _matches(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Whether a value meets the conditions of a filter."""
    return all(_meets(value.get(name), condition) for name, condition in (conditions or {}).items())


def _meets(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(name.startswith("$") for name in condition):
            return all(_compares(value, operator, bound) for operator, bound in condition.items())
        return isinstance(value, Mapping) and _matches(value, condition)
    if isinstance(condition, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(condition)
            and all(_meets(part, each) for part, each in zip(value, condition))
        )
    return _is_same(value, condition)


def _is_same(value: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where a number is never true or false."""
    return isinstance(value, bool) == isinstance(other, bool) and value == other


def _compares(value: Any, operator: str, bound: Any) -> bool:
    if operator == "$eq":
        return _is_same(value, bound)
    if operator == "$ne":
        return not _is_same(value, bound)
    if operator not in _COMPARISONS:
        raise ValueError(f"Unknown operator {operator}: use $eq, $ne, {', '.join(_COMPARISONS)}")
    return (_is_number(value) and _is_number(bound) or isinstance(value, str) and isinstance(bound, str)) and (
        _COMPARISONS[operator](value, bound)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _server_conditions(conditions: Mapping[str, Any] | None) -> dict[str, Any]:
    """The conditions that the server can check: everything that meets `conditions` meets them, too."""
    known: dict[str, Any] = {}
    for name, condition in (conditions or {}).items():
        path = f"metadata.{_MEMBER}.value.{name}"
        if condition is None or isinstance(condition, (str, bool)) or _is_number(condition):
            known[path] = condition
        elif isinstance(condition, Mapping):
            bounds = {
                operator: bound
                for operator, bound in condition.items()
                if operator in _COMPARISONS and (isinstance(bound, str) or _is_number(bound))
            }
            if bounds:
                known[path] = bounds
    return known


def _common_prefix(conditions: Sequence[MatchCondition]) -> tuple[str, ...]:
    """The labels that all matching namespaces begin with, as far as one condition says."""
    longest: tuple[str, ...] = ()
    for condition in conditions:
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            known = path[: path.index("*")] if "*" in path else path
            longest = max(longest, known, key=len)
    return longest


def _is_matched(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part))
