# LangChain's own suite for retrievers, on the server at MNEME_URL, and what it does not cover.

import asyncio
import json
import sys

import pytest
from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests

from mneme_client import AsyncMneme, InvalidRequestError, Mneme
from mneme_client.langchain import MnemeRetriever

QUESTION = "Where is the spare key?"


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return MnemeRetriever

    @property
    def retriever_constructor_params(self):
        return {"user_id": "ada"}

    @property
    def retriever_query_example(self):
        return QUESTION


def test_a_document_says_where_it_is_from():
    found = MnemeRetriever(user_id="ada", k=1, mode="balanced").invoke(QUESTION)[0]
    assert isinstance(found, Document)
    assert "blue pot" in found.page_content
    assert found.metadata["room"] == "hall"
    assert found.metadata["memory_id"].startswith("mem_")
    assert 0 < found.metadata["score"] <= 1
    assert found.metadata["chunk"]["start"] == 0
    assert found.id.startswith("chunk_")


def test_scope_and_filters_hold():
    assert MnemeRetriever(user_id="bob").invoke(QUESTION) == []
    assert MnemeRetriever(user_id="ada").invoke(QUESTION, user_id="bob") == []
    assert len(MnemeRetriever(filters={"tags": "house"}, k=50).invoke(QUESTION)) == 1
    with pytest.raises(InvalidRequestError):
        MnemeRetriever(filters={"nonsense": 1}).invoke(QUESTION)
    with pytest.raises(TypeError, match="userId"):
        MnemeRetriever().invoke(QUESTION, userId="ada")
    with pytest.raises(ValueError, match="k"):
        MnemeRetriever(k=0)


def test_asynchronous_calls_find_the_same():
    assert MnemeRetriever(agent_id="nobody").invoke(QUESTION) == MnemeRetriever(session_id="nobody").invoke(QUESTION) == []

    async def ask():
        async with AsyncMneme() as client:
            given = await MnemeRetriever(user_id="ada", async_client=client).ainvoke(QUESTION)
        return given, await MnemeRetriever(user_id="ada").ainvoke(QUESTION)

    given, own = asyncio.run(ask())
    expected = MnemeRetriever(user_id="ada").invoke(QUESTION)
    assert [each.id for each in given] == [each.id for each in own] == [each.id for each in expected]


class Counter:
    """Counts tests for the caller."""

    def __init__(self):
        self.passed = 0

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed


if __name__ == "__main__":
    with Mneme() as mneme:
        mneme.memories.add(
            "Ada keeps the spare key under the blue pot.", user_id="ada", tags=["house"], metadata={"room": "hall"}, wait=True
        )
        for text in ("The boiler is in the cellar.", "The key of the car is in the drawer.", "The spare wheel is flat."):
            mneme.memories.add(text, user_id="ada", wait=True)
    counter = Counter()
    options = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]
    status = pytest.main([__file__, "-q", "-p", "no:cacheprovider", *options], plugins=[counter])
    print(json.dumps({"passed": counter.passed}))
    sys.exit(status)
