# The official client of OpenAI for Python, against a real server. openai-pypi.test.ts stores the memories and runs this
# file with the server's address and keys in the environment. It prints the number of calls.

import base64
import json
import math
import os
import struct

import openai
from openai import OpenAI

URL = os.environ["MNEME_URL"]
EMBEDDER = os.environ["MNEME_EMBEDDER"]
QUESTION = [{"role": "user", "content": "When was the lighthouse of Skarn built?"}]
calls = 0


def count(_request):
    global calls
    calls += 1


def client_of(key):
    http = openai.DefaultHttpxClient(event_hooks={"request": [count]})
    return OpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=0, http_client=http)


quoting = client_of(os.environ["MNEME_QUOTING"])
writing = client_of(os.environ["MNEME_WRITING"])


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def failure_of(work, kind):
    try:
        work()
    except openai.APIError as error:
        expect(type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}")
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def models():
    ids = [model.id for model in quoting.models.list()]
    expect(ids[:5] == ["mneme", "mneme/fast", "mneme/hybrid", "mneme/balanced", "mneme/precise"], ids)
    expect(EMBEDDER in ids, ids)
    for id in ["mneme", "mneme/precise", EMBEDDER]:
        expect(quoting.models.retrieve(id).id == id, id)
    error = failure_of(lambda: quoting.models.retrieve("gpt-4o"), openai.NotFoundError)
    expect((error.code, error.param) == ("model_not_found", "model"), error)


def completion():
    answer = quoting.chat.completions.create(model="mneme", messages=QUESTION, user="ida")
    message = answer.choices[0].message
    expect("built in 1871 by Ida Holm. [1]" in message.content, message.content)
    citation = message.annotations[0].url_citation
    expect(message.content[citation.start_index : citation.end_index] == "[1]", citation)
    expect(citation.title == "Skarn", citation)
    expect(answer.mneme["sources"][0]["cited"] is True, answer)
    expect(answer.usage.total_tokens == 0, answer.usage)
    written = writing.chat.completions.create(model="mneme/fast", messages=QUESTION, temperature=0.5, max_tokens=40)
    expect(written.choices[0].message.content == "It was built in 1871 [1].", written)
    expect((written.usage.prompt_tokens, written.usage.completion_tokens) == (300, 9), written.usage)


def options():
    def sources(**more):
        answer = quoting.chat.completions.create(model="mneme", messages=QUESTION, **more)
        return [source["content"] for source in answer.mneme["sources"]]

    height = {"tags": "height"}
    expect(all("41 metres" in text for text in sources(extra_body={"mneme": {"filters": height}})), "mneme")
    expect(all("41 metres" in text for text in sources(metadata={"filters": json.dumps(height)})), "metadata")
    expect(len(sources(metadata={"maxSources": "1"})) == 1, "maxSources")
    expect(sources(user="nobody") == [], "user")


def stream():
    chunks = list(
        quoting.chat.completions.create(
            model="mneme", messages=QUESTION, user="ida", stream=True, stream_options={"include_usage": True}
        )
    )
    whole = quoting.chat.completions.create(model="mneme", messages=QUESTION, user="ida")
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    expect(text == whole.choices[0].message.content, text)
    expect(chunks[0].choices[0].delta.role == "assistant", chunks[0])
    expect(chunks[-1].usage.total_tokens == 0 and chunks[-1].choices == [], chunks[-1])
    with_sources = [chunk for chunk in chunks if getattr(chunk, "mneme", None) is not None]
    expect(len(with_sources) == 1 and len(with_sources[0].choices) == 1, with_sources)
    with writing.chat.completions.stream(model="mneme", messages=QUESTION) as events:
        for _ in events:
            pass
        final = events.get_final_completion()
    expect(final.choices[0].message.content == "It was built in 1871 [1].", final)


def abort():
    answer = quoting.chat.completions.create(model="mneme", messages=QUESTION, user="ida", stream=True)
    next(iter(answer))
    answer.close()
    expect(quoting.models.retrieve("mneme").id == "mneme", "the server answers after a hang-up")


def embeddings():
    texts = ["The kettle boils.", "Where is the spare key?"]
    floats = quoting.embeddings.create(model=EMBEDDER, input=texts, encoding_format="float")
    expect([item.index for item in floats.data] == [0, 1], floats)
    for item in floats.data:
        expect(abs(math.hypot(*item.embedding) - 1) < 1e-3, "unit length")
    default = quoting.embeddings.create(model=EMBEDDER, input=texts)
    for one, other in zip(floats.data, default.data):
        expect(all(abs(a - b) < 1e-6 for a, b in zip(one.embedding, other.embedding)), "the same vectors")
    raw = quoting.embeddings.create(model=EMBEDDER, input=texts[0], encoding_format="base64").data[0].embedding
    decoded = struct.unpack(f"<{len(floats.data[0].embedding)}f", base64.b64decode(raw))
    expect(all(abs(a - b) < 1e-6 for a, b in zip(decoded, floats.data[0].embedding)), "base64")
    error = failure_of(lambda: quoting.embeddings.create(model=EMBEDDER, input=[1, 2]), openai.BadRequestError)
    expect(error.param == "input", error)
    failure_of(lambda: quoting.embeddings.create(model="text-embedding-3-small", input="a"), openai.NotFoundError)


def errors():
    def ask(client, **more):
        return lambda: client.chat.completions.create(**{"model": "mneme", "messages": QUESTION, **more})

    error = failure_of(ask(client_of("ctx_wrong")), openai.AuthenticationError)
    expect((error.code, error.status_code) == ("invalid_api_key", 401), error)
    expect(error.request_id is not None, "the request id")
    failure_of(ask(client_of(os.environ["MNEME_READER"])), openai.PermissionDeniedError)
    error = failure_of(ask(quoting, model="gpt-4o"), openai.NotFoundError)
    expect(error.code == "model_not_found", error)
    tools = [{"type": "function", "function": {"name": "f"}}]
    for param, more in {"tools": {"tools": tools}, "n": {"n": 2}, "logprobs": {"logprobs": True}}.items():
        error = failure_of(ask(quoting, **more), openai.BadRequestError)
        expect((error.param, error.type) == (param, "invalid_request_error"), error)
    again = {"extra_headers": {"Idempotency-Key": "one"}}
    first = ask(quoting, **again)()
    expect(ask(quoting, **again)().id == first.id, "a repetition")
    failure_of(ask(quoting, user="ida", **again), openai.ConflictError)


def broken_stream():
    def read():
        for _ in client_of(os.environ["MNEME_BROKEN"]).chat.completions.create(
            model="mneme", messages=QUESTION, stream=True
        ):
            pass

    error = failure_of(read, openai.APIError)
    expect(error.code == "llm_error", error)


for check in [models, completion, options, stream, abort, embeddings, errors, broken_stream]:
    check()
print(f"openai (PyPI): {calls} calls")
