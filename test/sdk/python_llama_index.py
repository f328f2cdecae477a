# The retriever and the memory block for LlamaIndex on the server at MNEME_URL, with LlamaIndex itself: its memory, its
# query engine and its tools.

import asyncio
import json
import sys

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.indices.prompt_helper import PromptHelper
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.tools import RetrieverTool

from mneme_client import AsyncMneme, InvalidRequestError, Mneme
from mneme_client.llama_index import MnemeMemoryBlock, MnemeRetriever

QUESTION = "Where is the spare key?"


def characters(text):
    """One token per character, so that limits of tokens are exact."""
    return [*text]


def test_a_node_says_where_it_is_from():
    found = MnemeRetriever(user_id="ada", similarity_top_k=1).retrieve(QUESTION)[0]
    assert "blue pot" in found.text
    assert 0 < found.score <= 1
    assert found.node.id_.startswith("chunk_")
    assert found.node.ref_doc_id == found.node.metadata["memory_id"]
    assert found.node.ref_doc_id.startswith("mem_")
    assert found.node.metadata["room"] == "hall"
    assert found.node.metadata["chunk"]["start"] == 0
    assert "mem_" not in found.node.get_content(metadata_mode="llm")
    assert "hall" in found.node.get_content(metadata_mode="llm")


def test_scope_filters_and_limits_hold():
    assert MnemeRetriever(user_id="bob").retrieve(QUESTION) == []
    assert MnemeRetriever(agent_id="nobody").retrieve(QUESTION) == []
    assert MnemeRetriever(session_id="nobody").retrieve(QUESTION) == []
    assert len(MnemeRetriever(filters={"tags": "house"}, similarity_top_k=50).retrieve(QUESTION)) == 1
    assert len(MnemeRetriever(user_id="ada", similarity_top_k=2).retrieve(QUESTION)) == 2
    assert MnemeRetriever(user_id="ada", min_score=1).retrieve(QUESTION) == []
    with pytest.raises(InvalidRequestError):
        MnemeRetriever(mode="quick").retrieve(QUESTION)
    for similarity_top_k in (0, 101):
        with pytest.raises(ValueError, match="similarity_top_k"):
            MnemeRetriever(similarity_top_k=similarity_top_k)


def test_asynchronous_calls_find_the_same():
    async def ask():
        async with AsyncMneme() as client:
            given = await MnemeRetriever(user_id="ada", async_client=client).aretrieve(QUESTION)
        return given, await MnemeRetriever(user_id="ada").aretrieve(QUESTION)

    given, own = asyncio.run(ask())
    expected = MnemeRetriever(user_id="ada").retrieve(QUESTION)
    assert [each.node_id for each in given] == [each.node_id for each in own] == [each.node_id for each in expected]


def test_a_query_engine_and_a_tool_use_it():
    retriever = MnemeRetriever(user_id="ada", similarity_top_k=2)
    synthesizer = get_response_synthesizer(
        llm=MockLLM(), response_mode=ResponseMode.COMPACT, prompt_helper=PromptHelper(tokenizer=characters)
    )
    response = RetrieverQueryEngine(retriever, synthesizer).query(QUESTION)
    assert "blue pot" in str(response)
    assert len(response.source_nodes) == 2
    assert "blue pot" in str(RetrieverTool.from_defaults(retriever).call(QUESTION))


def memory(session, blocks, tokens=400):
    return Memory.from_defaults(
        session_id=session, memory_blocks=blocks, token_limit=tokens, token_flush_size=60, tokenizer_fn=characters
    )


TALK = [
    ("user", "My sister Clara moved to Bergen in March."),
    ("assistant", "Bergen is rainy. How does she like it?"),
    ("user", "She likes it, and works in the aquarium there."),
    ("assistant", "That sounds like a good place to work."),
    ("user", "Now help me with my tax form, please. It is due on Friday, and I have not begun with it."),
    ("assistant", "Of course. Which form is it? Tell me its number, and what you know about it already."),
]


def test_memory_keeps_what_leaves_the_conversation_and_brings_it_back():
    async def run():
        async with AsyncMneme() as client:
            block = MnemeMemoryBlock(client=client, user_id="eva", agent_id="helper", wait=True)
            talk = memory("monday", [block])
            for role, content in TALK:
                await talk.aput(ChatMessage(role=role, content=content))
            stored = await client.memories.list(user_id="eva").take(9)
            assert {each.session_id for each in stored} == {"monday"}
            assert {each.agent_id for each in stored} == {"helper"}
            said = [turn for each in reversed(stored) for turn in json.loads(each.content)]
            assert [(turn["role"], turn["content"]) for turn in said] == TALK[: len(said)]
            assert 2 <= len(said) < len(TALK)

            later = memory("tuesday", [block], tokens=5_000)
            await later.aput(ChatMessage(role="user", content="Where does my sister live?"))
            first = (await later.aget())[0]
            assert first.role == "system"
            assert "Bergen" in first.content
            assert "<mneme>" in first.content

            confined = MnemeMemoryBlock(user_id="eva", of_session=True)
            assert await confined.aget(await later.aget(), session_id="tuesday") == ""
            assert "Bergen" in await confined.aget(await later.aget(), session_id="monday")
            other = MnemeMemoryBlock(client=client, user_id="someone else")
            assert await other.aget(await later.aget()) == ""
            elsewhere = MnemeMemoryBlock(client=client, user_id="eva", agent_id="another")
            assert await elsewhere.aget(await later.aget()) == ""

    asyncio.run(run())


def test_memory_stores_and_asks_nothing_without_words():
    async def run():
        block = MnemeMemoryBlock(user_id="nobody")
        await block.aput([ChatMessage(role="user", content=" "), ChatMessage(role="tool", content="42")])
        assert await block.aget([]) == await block.aget([ChatMessage(role="system", content="x")]) == ""
        with Mneme() as client:
            assert client.memories.list(user_id="nobody").take(1) == []

    asyncio.run(run())


def test_memory_is_cut_from_its_worst_passage():
    async def run():
        block = MnemeMemoryBlock(user_id="eva", priority=1)
        content = "\n\n".join(["best " * 20, "second " * 20, "third " * 20])
        assert await block.atruncate(content, 1) == "\n\n".join(["best " * 20, "second " * 20])
        assert await block.atruncate(content, 50) == "best " * 20
        assert await block.atruncate(content, 1_000) is None

    asyncio.run(run())


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
    status = pytest.main([__file__, "-q", "-x", "-p", "no:cacheprovider"], plugins=[counter])
    print(json.dumps({"passed": counter.passed}))
    sys.exit(status)
