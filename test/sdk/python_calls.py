# Calls every method of both Python clients on the server at MNEME_URL, and prints how many calls each made. The
# synchronous half has the checks; the asynchronous half makes the same calls.

import asyncio
import datetime
import inspect
import io
import json
import os
import time

import httpx

import mneme_client as sdk

calls = {"sync": 0, "async": 0}


class Bridge:
    """Makes the asynchronous client look like the synchronous one, so that one script checks both."""

    def __init__(self, target, loop):
        self._target = target
        self._loop = loop

    def __getattr__(self, name):
        return self._wrapped(getattr(self._target, name))

    def _wrapped(self, value):
        if inspect.iscoroutine(value):
            return self._wrapped(self._loop.run_until_complete(value))
        if type(value).__module__.startswith("mneme_client._async"):
            return Bridge(value, self._loop)
        if callable(value) and not isinstance(value, type):
            return lambda *given, **named: self._wrapped(value(*given, **named))
        return value

    def __iter__(self):
        async def read():
            return [each async for each in self._target]

        return iter(self._loop.run_until_complete(read()))

    def __enter__(self):
        self._loop.run_until_complete(self._target.__aenter__())
        return self

    def __exit__(self, *details):
        self._loop.run_until_complete(self._target.__aexit__(*details))


def counted(kind):
    def hook(_):
        calls[kind] += 1

    async def async_hook(_):
        calls[kind] += 1

    return {"request": [async_hook if kind == "async" else hook]}


loop = asyncio.new_event_loop()


def sync_client(**settings):
    return sdk.Mneme(**settings, http_client=httpx.Client(event_hooks=counted("sync")))


def async_client(**settings):
    return Bridge(sdk.AsyncMneme(**settings, http_client=httpx.AsyncClient(event_hooks=counted("async"))), loop)


def raises(kind, work):
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def check(make):  # noqa: PLR0915
    mneme = make()
    text = "Ada keeps the spare key under the blue pot."
    place = {"agent_id": "cook", "session_id": "s-1"}
    memory = mneme.memories.add(text, user_id="ada", **place, tags=("house",), metadata={"room": "hall"}, wait=True)
    assert (memory.agent_id, memory.session_id) == ("cook", "s-1")
    assert len(mneme.memories.list(**place).take(9)) == 1
    assert mneme.memories.search("key", agent_id="nobody").results == []
    assert (memory.status, memory.metadata.to_dict(), memory.user_id) == ("completed", {"room": "hall"}, "ada")
    later = datetime.datetime(2040, 1, 1, tzinfo=datetime.timezone.utc)
    once = mneme.memories.add("once", idempotency_key="k1", expires_at=later)
    assert once.expires_at == later
    assert mneme.memories.add("once", idempotency_key="k1", expires_at=later).id == once.id
    raises(sdk.ConflictError, lambda: mneme.memories.add("twice", idempotency_key="k1"))
    day = datetime.date(2020, 1, 2)
    dated = mneme.memories.add("The ship sailed.", agent_id="dater", occurred_at=day, wait=True)
    assert dated.occurred_at == datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)
    for moment, count in ((day, 0), (later, 1)):
        before = {"$and": [{"occurred_at": {"$lt": moment}}]}
        assert len(mneme.memories.search("ship", agent_id="dater", as_of=day, filters=before).results) == count
    for unsent, text in ((datetime.datetime(2020, 1, 2), "time zone"), ({1, 2}, "type set"), (b"x", "type bytes")):
        for argument in ({"occurred_at": unsent}, {"metadata": {"deep": [unsent]}}):
            assert text in str(raises(sdk.MnemeError, lambda given=argument: mneme.memories.add("x", **given)))
    mneme.memories.delete(dated.id)
    batch = mneme.memories.add_many([{"content": "A bee."}, {"content": ""}, {"content": "A cow."}], wait=True)
    assert (batch.accepted, batch.failed) == (2, 1)
    assert batch.data[0].memory.status == "completed"
    assert batch.data[1].error.code == "invalid_request"

    steps = []
    notes = ("# Boiler\n\nThe boiler was serviced in May.\n" * 100).encode()
    uploaded = mneme.memories.upload(
        io.BytesIO(notes),
        filename="boiler.md",
        user_id="ada",
        tags=["house"],
        metadata={"n": 2**63 + 1},
        wait=True,
        on_progress=lambda *step: steps.append(step),
    )
    assert uploaded.source.filename == "boiler.md"
    assert (uploaded.tags, uploaded.metadata["n"], steps[-1]) == (["house"], 2**63 + 1, (len(notes), len(notes)))
    assert mneme.project.update(keep_files=True).keep_files is True
    kept = mneme.memories.upload(b"0123456789", filename="digits.txt", wait=True)
    assert kept.source.is_kept is True
    assert mneme.memories.file(kept.id) == b"0123456789"
    assert mneme.memories.file(kept.id, start=2, end=5) == b"234"
    assert mneme.memories.file(kept.id, start=8) == b"89"
    assert mneme.project.update(keep_files=None).keep_files is False
    damaged = b"%PDF-1.7\nand nothing else"
    bad = (sdk.ProcessingError, sdk.InvalidRequestError)
    try:
        mneme.memories.upload(damaged, filename="x.pdf", wait=True)
        raise AssertionError("a damaged PDF was read")
    except bad:
        pass

    assert mneme.memories.get(memory.id).id == memory.id
    assert mneme.memories.wait(memory.id).status == "completed"
    ids = [each.id for each in mneme.memories.list(limit=2)]
    assert len(ids) == len(set(ids)) >= 6
    assert mneme.memories.list(order="oldest").take(1)[0].id == ids[-1]
    assert mneme.memories.count(user_id="ada", filters={"tags": "house"}) == 2
    assert mneme.memories.retry_failed("ada") == 0
    assert len(mneme.memories.list(tag="house", status="completed", user_id="ada").take(9)) == 2
    assert mneme.memories.update(memory.id, title="Spare key", type=None, wait=True).title == "Spare key"
    assert isinstance(mneme.memories.graph(memory.id, limit=5).neighbours, list)
    raises(sdk.ConflictError, lambda: mneme.memories.retry(memory.id))
    said = mneme.memories.add("The spare key has a red ribbon.", user_id=memory.user_id, agent_id=memory.agent_id, wait=True)
    [relation] = mneme.memories.relate(said.id, memory.id, "refines")
    assert relation.memory_id == memory.id
    mneme.memories.forget_relation(said.id, memory.id)
    removed, set_ = mneme.memories.history(said.id, limit=1).take(2)
    assert [removed.action, set_.action] == ["removed", "set"]
    assert mneme.memories.get(said.id, known_at=removed.at).relations == []
    mneme.memories.erase_history(said.id)
    mneme.memories.delete(said.id)
    assert mneme.memories.map(filters={"tags": "house"}).state in ("ready", "building")
    [pot] = mneme.graph.entities(limit=1).take(1)
    assert mneme.graph.entity(pot.id, limit=5).passages
    assert mneme.graph.update(pot.id, name="The pot").name == "The pot"
    assert [each.name for each in mneme.graph.path(pot.id, pot.id).entities] == ["The pot"]
    found = mneme.memories.search(
        "Where is the spare key?", user_id="ada", limit=3, mode="hybrid", filters={"tags": "house"}, explain=True
    )
    assert found.results[0].memory_id == memory.id
    assert found.results[0].metadata.memory.title == "Spare key"
    assert found.results[0].metadata["room"] == "hall"
    assert found.explain.mode == "hybrid"
    answered = mneme.memories.query("Where is the spare key?", user_id="ada", **place)
    assert "blue pot" in answered.answer and answered.sources[0].cited is True
    with mneme.memories.query_stream("Where is the spare key?", user_id="ada") as stream:
        assert stream.result().answer == answered.answer

    chat = mneme.chats.create(user_id="ada", **place, title="Keys")
    assert mneme.chats.update(chat.id, title=None).title is None
    assert "blue pot" in mneme.chats.send(chat.id, "Where is the spare key?").content
    with mneme.chats.stream(chat.id, "Where is the spare key?") as stream:
        assert [each.event for each in stream][-3:] == ["sources", "usage", "done"]
    assert len(mneme.chats.messages(chat.id, limit=3).take(9)) == 4
    assert len(mneme.chats.get(chat.id).messages) == 4
    assert len(mneme.chats.list(user_id="ada", **place).take(9)) == 1
    assert mneme.chats.list(agent_id="nobody").take(9) == []
    # the server fetches no address inside
    raises(sdk.InvalidRequestError, lambda: mneme.memories.add_url("http://10.0.0.1/page", tags=["x"]))
    raises(sdk.ConflictError, lambda: mneme.memories.refetch(memory.id))
    mneme.memories.add_many([{"content": f"Note {n}.", "agentId": "scribe"} for n in range(12)])
    assert mneme.memories.count_matching(agent_id="scribe") == 12
    raises(sdk.ConflictError, lambda: mneme.memories.delete_matching(agent_id="scribe", matched=11))
    raises(sdk.InvalidRequestError, lambda: mneme.memories.delete_matching())
    deletion = mneme.memories.delete_matching(agent_id="scribe", filters={"type": {"$ne": 1}}, matched=12, wait=True)
    assert (deletion.status, deletion.deleted) == ("completed", 12)
    assert mneme.memories.job(deletion.id).deleted == 12
    mneme.chats.delete(chat.id)
    raises(sdk.NotFoundError, lambda: mneme.chats.get(chat.id))

    assert mneme.users.upsert("ada", name="Ada", metadata={"plan": "a"}).name == "Ada"
    assert mneme.users.upsert("ada", name=None).name is None
    assert mneme.users.get("ada").metadata["plan"] == "a"
    assert mneme.users.add_event("ada", "page_view", {"path": "/"}).type_ == "page_view"
    assert len(mneme.users.events("ada", type="page_view").take(5)) == 1
    assert mneme.users.profile("ada", max_tokens=500, agent_id="nobody").facts == []
    mneme.users.upsert("c/d é")
    assert mneme.users.get("c/d é").id == "c/d é"
    assert len(mneme.users.list().take(9)) == 2
    mneme.users.delete("c/d é", cascade=True)

    key = mneme.keys.create("reader", ["memories:read"], user_id="ada")
    reader = make(api_key=key.key)
    assert len(reader.memories.list().take(9)) == 2
    current = reader.keys.current()
    assert [current.id, list(current.allowed_scopes), current.user_id] == [key.id, ["memories:read"], "ada"]
    raises(sdk.PermissionDeniedError, lambda: reader.memories.add("no"))
    assert mneme.keys.update(key.id, name="r").name == "r"
    assert any(each.id == key.id for each in mneme.keys.list().take(9))
    assert mneme.keys.rotate(key.id, grace_seconds=0).key != key.key
    raises(sdk.AuthenticationError, lambda: reader.memories.list().take(1))
    mneme.keys.delete(key.id)

    own = mneme.project.get()
    assert mneme.project.update(retention_days=7).retention_days == 7
    assert mneme.project.embedder().project_id == own.id
    assert mneme.project.test_llm().ok is False
    assert mneme.project.test_llm({"model": "not stored"}).model == "not stored"
    project = mneme.projects.create("another", retention_days=3)
    assert mneme.projects.update(project.id, name="other").name == "other"
    assert mneme.projects.get(project.id).retention_days == 3
    assert mneme.projects.vector_index(project.id).active == "scan"
    assert [project.documents for project in mneme.projects.list().take(9)][:1] == [0]
    embedder = mneme.embedders()[0]
    model = mneme.projects.embedder(project.id).model or embedder.id
    for work in (
        lambda: mneme.projects.change_embedder(project.id, model),
        lambda: mneme.projects.cancel_embedder(project.id),
        lambda: mneme.projects.forget_previous_embedder(project.id),
    ):
        try:
            work()
        except sdk.ApiError as error:
            assert error.status < 500
    mneme.projects.delete(project.id)
    assert mneme.project.activity(step="day").data[-1].stored > 0
    assert mneme.usage().plan == "enterprise"
    assert mneme.system().threads[0].state == "up"

    known = mneme.cases.create("Where?")
    assert [each.id for each in mneme.cases.list()] == [known.id]
    run = mneme.cases.run(["fast"])
    while mneme.cases.get_run(run.id).status == "processing":
        time.sleep(0.05)
    [measured] = mneme.cases.runs().take(9)
    assert measured.results[0].cases == 1
    mneme.cases.delete(known.id)

    reranker = mneme.installed_models.list(task="rerank").take(1)[0].id
    assert mneme.installed_models.get(reranker).kind == "built_in"
    assert mneme.installed_models.test(reranker).ok
    assert mneme.installed_models.set_reranker(own.id, reranker).reranker == reranker
    mneme.installed_models.set_reranker(own.id, None)
    for attempt in (
        lambda: mneme.installed_models.add("nowhere"),
        lambda: mneme.installed_models.delete("nowhere"),
        lambda: mneme.installed_models.retry("nowhere"),
        lambda: mneme.installed_models.calibrate("nowhere"),
        lambda: mneme.installed_models.cancel_calibration("nowhere"),
    ):
        try:
            attempt()
        except sdk.ApiError as error:
            assert error.status in (400, 404)

    hook = os.environ["HOOK_URL"]
    webhook = mneme.webhooks.create(hook, ["memory.completed"])
    assert mneme.webhooks.update(webhook.id, description="d").description == "d"
    assert mneme.webhooks.get(webhook.id).url == hook
    assert len(mneme.webhooks.list().take(9)) == 1
    delivery = mneme.webhooks.test(webhook.id)
    while [each.status for each in mneme.webhooks.deliveries(webhook.id)] != ["delivered"]:
        time.sleep(0.05)
    assert mneme.webhooks.redeliver(webhook.id, delivery.id).id == delivery.id
    received = httpx.get(f"{hook}/received").json()
    assert sdk.verify_webhook(received["body"], received["headers"], webhook.secret)["type"] == "webhook.test"
    assert mneme.webhooks.rotate_secret(webhook.id).secret != webhook.secret
    mneme.webhooks.delete(webhook.id)

    assert any(each.id == "mneme/fast" for each in mneme.models.list())
    assert mneme.models.get("mneme/fast").mneme.task == "chat"
    messages = [{"role": "user", "content": "Where is the spare key?"}]
    whole = mneme.completions.create(messages, user="ada").choices[0].message.content
    assert "blue pot" in whole
    with mneme.completions.stream(messages, user="ada") as stream:
        assert "".join(each.choices[0].delta.content or "" for each in stream) == whole
    embeddings = mneme.embeddings.create(embedder.id, ["a", "b"])
    assert (len(embeddings.data), len(embeddings.data[0].embedding)) == (2, embedder.dimensions)

    wrong = raises(sdk.AuthenticationError, lambda: make(api_key="ctx_wrong").memories.add("a"))
    assert wrong.code == "invalid_api_key" and wrong.request_id
    raises(sdk.InvalidRequestError, lambda: mneme.memories.search("a", filters={"nonsense": 1}))
    raises(sdk.InvalidRequestError, lambda: mneme.memories.list(limit=101).take(1))
    for each in [each.id for each in mneme.memories.list()]:
        mneme.memories.delete(each, purge=True)
    raises(sdk.NotFoundError, lambda: mneme.memories.get(memory.id))
    mneme.users.delete("ada", cascade=True)


check({"sync": sync_client, "async": async_client}[os.environ["CLIENT"]])
print(json.dumps(calls))
