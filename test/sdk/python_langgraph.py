# The store for LangGraph on the server at MNEME_URL: the same calls as on LangGraph's own InMemoryStore have the same
# results, and what only a server has. Also LangChain's own suites for key-value stores.

import asyncio
import json
import random
import sys
import uuid

import pytest
from langchain_tests.integration_tests import BaseStoreAsyncTests, BaseStoreSyncTests
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from mneme_client import AsyncMneme, InvalidRequestError, Mneme
from mneme_client.langchain import MnemeKeyValueStore
from mneme_client.langgraph import MnemeStore


@pytest.fixture
def store():
    with Mneme() as client:
        yield MnemeStore(client, user_id=f"u-{uuid.uuid4()}")


def seen(items):
    return sorted((item.namespace, item.key, json.dumps(item.value, sort_keys=True)) for item in items)


NAMESPACES = [("users",), ("users", "ada"), ("users", "ada", "notes"), ("users", "bob", "notes"), ("docs", "a%b"), ("x" * 250, "y")]
VALUES = [
    {"text": "likes tea", "rank": 1, "tags": ["a", "b"], "done": True},
    {"text": "likes coffee", "rank": 2.5, "nested": {"color": "red", "size": {"w": 1}}, "done": False},
    {"text": "grüße 😀", "rank": "7", "a.b": "dotted", "_id": 3, "none": None},
    {},
]
FILTERS = [
    None,
    {"done": True},
    {"rank": 1},
    {"rank": {"$eq": 2.5}},
    {"rank": {"$ne": 1}},
    {"text": "likes tea", "done": True},
    {"nested": {"color": "red"}},
    {"nested": {"size": {"w": 1}}},
    {"tags": ["a", "b"]},
    {"tags": ["a"]},
    {"none": None},
    {"a.b": "dotted"},
    {"missing": 1},
]


def test_does_what_the_store_in_memory_does(store):
    expected = InMemoryStore()
    random.seed(20261123)
    for step in range(60):
        namespace, key = random.choice(NAMESPACES), random.choice(["k", "k/2", "", "ключ"])
        if random.random() < 0.75:
            value = random.choice(VALUES)
            for each in (store, expected):
                each.put(namespace, key, value)
        else:
            for each in (store, expected):
                each.delete(namespace, key)
        if step % 4:
            continue
        mine, theirs = store.get(namespace, key), expected.get(namespace, key)
        assert (mine and mine.value) == (theirs and theirs.value)
    for namespace in NAMESPACES:
        for key in ("k", "k/2", "", "ключ"):
            mine, theirs = store.get(namespace, key), expected.get(namespace, key)
            assert (mine and (mine.namespace, mine.key, mine.value)) == (theirs and (theirs.namespace, theirs.key, theirs.value))
    for prefix in [(), ("users",), ("users", "ada"), ("user",), ("docs",), ("x" * 250,)]:
        for conditions in FILTERS:
            assert seen(store.search(prefix, filter=conditions, limit=99)) == seen(
                expected.search(prefix, filter=conditions, limit=99)
            ), (prefix, conditions)
    everything = [(item.namespace, item.key) for item in store.search((), limit=99)]
    pages = [store.search((), limit=4, offset=at) for at in range(0, len(everything), 4)]
    assert [(item.namespace, item.key) for page in pages for item in page] == everything
    for options in [
        {},
        {"prefix": ("users",)},
        {"prefix": ("users", "*", "notes")},
        {"suffix": ("notes",)},
        {"prefix": ("users",), "suffix": ("*", "notes")},
        {"max_depth": 1},
        {"max_depth": 2, "limit": 2, "offset": 1},
        {"prefix": ("nothing",)},
    ]:
        assert store.list_namespaces(**options) == [
            namespace for namespace in expected.list_namespaces(**options)
        ], options


def test_compares_numbers_with_numbers_and_texts_with_texts(store):
    for key, value in {"a": 1, "b": 2.5, "c": "2", "d": None, "e": True}.items():
        store.put(("n",), key, {"value": value, "text": "a number"})
    for query in (None, "number"):
        found = lambda condition, query=query: [
            item.key for item in sorted(store.search(("n",), filter={"value": condition}, query=query), key=lambda item: item.key)
        ]
        assert found({"$gt": 1}) == ["b"]
        assert found({"$gte": 1, "$lt": 2.5}) == ["a"]
        assert found({"$lte": "2"}) == ["c"]
        assert found(1) == ["a"]
        assert found(True) == ["e"]
        assert found({"$ne": 1}) == ["b", "c", "d", "e"]
        with pytest.raises(ValueError, match=r"\$near"):
            found({"$near": 1})


def test_finds_items_by_meaning_below_a_namespace(store):
    store.put(("users", "ada"), "pet", {"text": "The cat is called Minka and hates baths."})
    store.put(("users", "ada"), "car", {"text": "The car is a red hatchback."})
    store.put(("users", "bob"), "pet", {"text": "The dog is called Rex."})
    found = store.search(("users", "ada"), query="What is the name of the cat?")
    assert [item.key for item in found] == ["pet", "car"]
    assert 0 < found[1].score < found[0].score <= 1
    assert found[0] == store.get(("users", "ada"), "pet")
    assert {item.namespace[1] for item in store.search(("users",), query="animals")} == {"ada", "bob"}
    assert [item.key for item in store.search(("users", "ada"), query="cat", limit=1, offset=1)] == ["car"]
    assert [item.key for item in store.search(("users",), query="animal", filter={"text": {"$gte": "The d"}})] == ["pet"]
    with pytest.raises(ValueError, match="100"):
        store.search((), query="x", limit=60, offset=41)


def test_a_change_is_found_at_once_and_the_old_value_is_not(store):
    store.put(("n",), "k", {"text": "The meeting is on Monday."})
    before = store.get(("n",), "k")
    store.put(("n",), "k", {"text": "The gathering moved to Thursday."})
    after = store.get(("n",), "k")
    assert (after.created_at, after.value) == (before.created_at, {"text": "The gathering moved to Thursday."})
    assert after.updated_at > before.updated_at
    assert [item.value for item in store.search(("n",), query="meeting on Monday")] == [after.value]
    store.delete(("n",), "k")
    assert store.get(("n",), "k") is None
    assert store.search(("n",), query="gathering") == store.search(("n",)) == []
    store.delete(("n",), "k")


def test_fields_decide_by_what_an_item_is_found(store):
    store.put(("n",), "hidden", {"text": "The safe is behind the mirror."}, index=False)
    store.put(("n",), "part", {"secret": "The safe is behind the mirror.", "topics": [{"name": "sailing"}]}, index=["topics[*].name"])
    assert [item.key for item in store.search(("n",), query="safe behind a mirror")] == ["part"]
    assert {item.key for item in store.search(("n",))} == {"hidden", "part"}
    memories = store._client.memories
    assert [each.content for each in memories.list(tag="langgraph:n", user_id=store._user_id)] == ["sailing", "hidden"]
    chosen = MnemeStore(store._client, user_id=store._user_id, fields=["text"])
    chosen.put(("m",), "k", {"text": "rowing", "other": "x"})
    assert [each.content for each in memories.list(tag="langgraph:m", user_id=store._user_id)] == ["rowing"]


def test_stores_of_other_users_and_other_memories_are_apart(store):
    other = MnemeStore(store._client, user_id=f"u-{uuid.uuid4()}")
    nobody = MnemeStore(store._client)
    for number, each in enumerate((store, other, nobody)):
        each.put(("same",), "k", {"number": number})
    store._client.memories.add("same", user_id=store._user_id, tags=["langgraph:same"], metadata={"langgraph": 1}, wait=True)
    for number, each in enumerate((store, other, nobody)):
        assert each.get(("same",), "k").value == {"number": number}
        assert [item.value for item in each.search(("same",))] == [{"number": number}]
        assert [item.value for item in each.search(("same",), query="number")] == [{"number": number}]
    nobody.delete(("same",), "k")
    assert store.get(("same",), "k").value == {"number": 0}


def test_values_that_cannot_be_kept_are_refused(store):
    for value, kind in [
        ({"n": float("nan")}, ValueError),
        ({"n": 2**53}, ValueError),
        ({"n": {1, 2}}, TypeError),
        ({"n": {1: 2}}, TypeError),
        ({"n": "x" * 11_000}, InvalidRequestError),
    ]:
        with pytest.raises(kind):
            store.put(("n",), "k", value)
    with pytest.raises(InvalidRequestError):
        store.batch([PutOp(("n",), "good", {"a": 1}), PutOp(("n",), "bad", {"n": "x" * 11_000})])
    assert [item.key for item in store.search(("n",))] == ["good"]
    with pytest.raises(NotImplementedError):
        store.put(("n",), "k", {}, ttl=5)
    for namespace in [(), ("langgraph",), ("a.b",), ("",)]:
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})
    with pytest.raises(TypeError):
        store.batch(["nonsense"])


def test_a_batch_answers_in_order_and_reads_before_it_writes(store):
    store.put(("n",), "a", {"v": 1})
    results = store.batch(
        [
            PutOp(("n",), "a", {"v": 2}),
            GetOp(("n",), "a"),
            PutOp(("n",), "a", {"v": 3}),
            PutOp(("n",), "b", {"v": 4}),
            SearchOp(("n",)),
        ]
    )
    assert [results[0], results[2], results[3]] == [None, None, None]
    assert (results[1].value, [item.value for item in results[4]]) == ({"v": 1}, [{"v": 1}])
    assert seen(store.search(("n",))) == [(("n",), "a", '{"v": 3}'), (("n",), "b", '{"v": 4}')]
    many = [PutOp(("many",), f"k{at}", {"v": at}) for at in range(130)]
    store.batch(many)
    assert len(store.search(("many",), limit=1_000)) == 130


def test_asynchronous_calls_do_the_same(store):
    async def use(client):
        mine = MnemeStore(async_client=client, user_id=store._user_id)
        await mine.aput(("n",), "k", {"text": "Bees make honey."})
        await mine.aput(("n", "m"), "l", {"text": "Ants build hills."})
        assert (await mine.aget(("n",), "k")).value == {"text": "Bees make honey."}
        assert await mine.aget(("n",), "none") is None
        assert [item.key for item in await mine.asearch(("n",), query="honey")] == ["k", "l"]
        assert [item.key for item in await mine.asearch(("n",), filter={"text": {"$lt": "B"}})] == ["l"]
        assert await mine.alist_namespaces() == [("n",), ("n", "m")]
        await mine.adelete(("n",), "k")
        return await mine.asearch(("n",))

    async def run():
        async with AsyncMneme() as client:
            left = await use(client)
        assert [item.key for item in left] == ["l"]
        return await use(None)

    assert [item.key for item in asyncio.run(run())] == ["l"]


class TestKeyValueStore(BaseStoreSyncTests):
    @pytest.fixture
    def kv_store(self):
        with Mneme() as client:
            yield MnemeKeyValueStore(client, user_id=f"u-{uuid.uuid4()}")

    @pytest.fixture
    def three_values(self):
        return "foo", {"a": [1, None]}, 3.5


class TestAsyncKeyValueStore(BaseStoreAsyncTests):
    @pytest.fixture
    async def kv_store(self):
        with Mneme() as client:
            yield MnemeKeyValueStore(client, user_id=f"u-{uuid.uuid4()}")

    @pytest.fixture
    def three_values(self):
        return "foo", {"a": [1, None]}, 3.5


class Counter:
    """Counts tests for the caller."""

    def __init__(self):
        self.passed = 0

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed


if __name__ == "__main__":
    counter = Counter()
    options = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]
    status = pytest.main([__file__, "-q", "-x", "-p", "no:cacheprovider", *options], plugins=[counter])
    print(json.dumps({"passed": counter.passed}))
    sys.exit(status)
