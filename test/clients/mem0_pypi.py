# mem0's client for Python, unchanged, against a real server. mem0-pypi.test.ts runs this file with the server's address
# and keys in the environment, and with telemetry off. It prints the number of calls.

import asyncio
import os

import httpx
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.exceptions import (
    AuthenticationError,
    MemoryNotFoundError,
    ValidationError,
)

HOST = f"{os.environ['MNEME_URL']}/compat/mem0"
calls = 0


def count(request):
    global calls
    calls += 1
    if not str(request.url).startswith(HOST):
        raise AssertionError(f"a request to {request.url}")


async def count_async(request):
    count(request)


def client_of(key):
    http = httpx.Client(event_hooks={"request": [count]}, timeout=60)
    return MemoryClient(api_key=key, host=HOST, client=http)


client = client_of(os.environ["MNEME_KEY"])


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def failure_of(work, kind):
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def ping():
    expect(client.org_id == "mneme", client.org_id)
    expect(client.project_id.startswith("prj_"), client.project_id)
    error = failure_of(lambda: client_of("ctx_wrong"), ValueError)
    expect("This API key is unknown" in str(error), error)


def memories():
    added = client.add(
        [
            {"role": "user", "content": "My train to Bergen leaves at seven."},
            {"role": "assistant", "content": "I will wake you at six."},
        ],
        user_id="eva",
        run_id="trip",
        metadata={"topic": "travel"},
    )
    expect(added["status"] == "SUCCEEDED" and len(added["results"]) == 1, added)
    whole = added["results"][0]["id"]
    facts = client.add("Eva collects stamps.", user_id="eva", infer=False, expiration_date="2099-12-31")
    [fact] = facts["results"]
    expect(fact["memory"] == "Eva collects stamps.", facts)

    found = client.search("When does the train leave?", filters={"user_id": "eva"}, top_k=3)["results"]
    expect(found[0]["id"] == whole and "seven" in found[0]["memory"], found)
    expect(found[0]["run_id"] == "trip" and found[0]["metadata"] == {"topic": "travel"}, found)
    for filters, number in [
        ({"AND": [{"user_id": "eva"}, {"run_id": "trip"}]}, 1),
        ({"AND": [{"user_id": "eva"}, {"run_id": {"in": ["trip", "other"]}}]}, 1),
        ({"user_id": "eva"}, 2),
        ({"user_id": "nobody"}, 0),
    ]:
        expect(len(client.search("Eva", filters=filters)["results"]) == number, filters)
        listed = client.get_all(filters=filters)
        expect((listed["count"], len(listed["results"])) == (number, number), listed)
    expect(client.search("zebra", filters={"user_id": "eva"}, threshold=1)["results"] == [], "the threshold")
    page = client.get_all(filters={"user_id": "eva"}, page=1, page_size=1)
    expect((page["count"], len(page["results"]), page["previous"]) == (2, 1, None) and page["next"], page)

    memory = client.get(fact["id"])
    expect(memory["expiration_date"] == "2099-12-31", memory)
    expect(client.update(fact["id"], expiration_date=None)["expiration_date"] is None, "no expiry")
    changed = client.update(fact["id"], text="Eva collects coins.", metadata={"since": 2026})
    expect((changed["memory"], changed["metadata"]) == ("Eva collects coins.", {"since": 2026}), changed)
    added, entry = client.history(fact["id"])
    expect((added["event"], added["new_memory"]) == ("ADD", memory["memory"]), added)
    expect((entry["event"], entry["old_memory"]) == ("UPDATE", memory["memory"]), entry)
    expect(entry["new_memory"] == "Eva collects coins.", entry)
    client.batch_update([{"memory_id": fact["id"], "text": "Eva collects maps."}])
    expect(client.get(fact["id"])["memory"] == "Eva collects maps.", "a batch of changes")
    client.batch_delete([{"memory_id": fact["id"]}])
    failure_of(lambda: client.get(fact["id"]), MemoryNotFoundError)
    expect(client.delete(whole)["message"] == "Memory deleted successfully!", "deleted")


def entities():
    for user in ["eva", "max"]:
        client.add(f"{user} was here", user_id=user, agent_id="guide", infer=False)
    names = [entity["name"] for entity in client.users()["results"]]
    expect(set(names) == {"eva", "max"}, names)
    client.delete_all(user_id="eva")
    expect(client.get_all(filters={"agent_id": "guide"})["count"] == 1, "eva's memories are gone")
    client.delete_users(agent_id="guide")
    expect(client.get_all(filters={"agent_id": "guide"})["count"] == 0, "the agent's memories are gone")
    failure_of(lambda: client.delete_users(run_id="none"), MemoryNotFoundError)
    expect("All users" in client.delete_users()["message"], "all users")
    expect(client.users()["count"] == 0, "no user is left")


def errors():
    error = failure_of(lambda: client.search("x", filters={"nobody_knows": 1}), ValidationError)
    expect("is not known" in str(error), error)
    failure_of(lambda: client.add("x"), ValidationError)
    failure_of(lambda: client.add("x", user_id="u", metadata={"_mine": 1}), ValidationError)
    failure_of(lambda: client.add("x", usre_id="u"), ValidationError)
    failure_of(lambda: client.add([{"role": "user", "content": [{"type": "image_url"}]}], user_id="u"), ValidationError)
    reader = client_of(os.environ["MNEME_READER"])
    failure_of(lambda: reader.add("x", user_id="u"), AuthenticationError)
    failure_of(lambda: client.create_memory_export(schema="{}", user_id="u"), MemoryNotFoundError)


async def asynchronous():
    http = httpx.AsyncClient(event_hooks={"request": [count_async]}, timeout=60)
    later = AsyncMemoryClient(api_key=os.environ["MNEME_KEY"], host=HOST, client=http)
    added = await later.add("Max rows.", user_id="max", infer=False)
    found = await later.search("Who rows?", filters={"user_id": "max"})
    expect(found["results"][0]["id"] == added["results"][0]["id"], found)
    await later.delete(added["results"][0]["id"])
    expect((await later.get_all(filters={"user_id": "max"}))["count"] == 0, "deleted")


for check in [ping, memories, entities, errors]:
    check()
asyncio.run(asynchronous())
print(f"mem0ai (PyPI): {calls} calls")
