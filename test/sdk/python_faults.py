# Both Python clients against servers that fail. python.test.ts runs it. Most answers come from httpx's MockTransport.

import asyncio
import io
import json
import os
import socket
import sys
import threading
import time
import unittest

import httpx

import mneme_client as sdk

TEXT = 'event: text\ndata: {"content":"Under the "}\n\n'
REST = 'event: text\ndata: {"content":"pot [1]."}\n\nevent: sources\ndata: []\n\nevent: usage\ndata: {"tokens_used":7,"answer_state":"answered"}\n\n'
DONE = "event: done\ndata: {}\n\n"
TIME = "2026-11-23T10:00:00.000Z"


def memory(id_="mem_1", status="completed"):
    names = "title", "type", "tags", "userId", "agentId", "sessionId", "language", "externalId", "source"
    empty = dict.fromkeys(names)
    times = {"created_at": TIME, "updated_at": TIME, "expires_at": None, "occurred_at": None}
    times |= {"occurred_at_given": None, "superseded_by": None}
    error = {"error": {"code": "unreadable_document", "message": "The file is damaged."}} if status == "failed" else {}
    return {"id": id_, "status": status, "content": "a text", "metadata": {"a": 1}, **empty, **times, **error}


def json_(body, status=200, **headers):
    return lambda: httpx.Response(status, json=body, headers={"x-request-id": "req-1", **headers})


def fault(status, code, retry_after=None, **more):
    error = {"code": code, "message": f"planned {code}", "status": status, "request_id": "req-1", **more}
    return json_({"error": error}, status, **({} if retry_after is None else {"retry-after": retry_after}))


def stream(text):
    return lambda: httpx.Response(
        200, content=text.encode(), headers={"content-type": "text/event-stream", "x-request-id": "req-1"}
    )


class Fake:
    """Answers in order; the last one is repeated."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.received = []

    def __call__(self, request):
        self.received.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer()


def run(answers, use, is_async, **settings):
    """The result of a use of a client, or the error that it raised; and the requests."""
    fake = Fake(*answers)
    given = {"base_url": "http://mneme.test", "api_key": "ctx_test", **settings}
    try:
        if not is_async:
            http = httpx.Client(transport=httpx.MockTransport(fake))
            return use(sdk.Mneme(**given, http_client=http)), fake.received

        async def main():
            async with httpx.AsyncClient(transport=httpx.MockTransport(fake)) as http:
                return await use(sdk.AsyncMneme(**given, http_client=http))

        return asyncio.run(main()), fake.received
    except sdk.MnemeError as error:
        return error, fake.received


class BothClients:
    is_async = False

    def run_(self, answers, use, **settings):
        return run(answers, use, self.is_async, **settings)

    def whole(self, text, use=None):
        """The whole answer of a stream, or the error that it raised."""
        opened = use or (lambda client: client.memories.query_stream("where?"))
        if self.is_async:

            async def read(client):
                async with await opened(client) as answer:
                    return await answer.result()
        else:

            def read(client):
                with opened(client) as answer:
                    return answer.result()

        return self.run_([stream(text)], read)

    def test_errors_have_their_class(self):
        for status, code, kind in [
            (400, "invalid_request", sdk.InvalidRequestError),
            (401, "invalid_api_key", sdk.AuthenticationError),
            (403, "insufficient_scope", sdk.PermissionDeniedError),
            (404, "memory_not_found", sdk.NotFoundError),
            (409, "external_id_conflict", sdk.ConflictError),
            (422, "something_new", sdk.InvalidRequestError),
            (429, "document_quota_exceeded", sdk.RateLimitError),
            (418, "teapot", sdk.ApiError),
            (502, "llm_error", sdk.ServerError),
        ]:
            error, received = self.run_([fault(status, code, param="content")], lambda c: c.memories.add("a"))
            self.assertIs(type(error), kind)
            self.assertEqual((error.status, error.code, error.request_id, error.param), (status, code, "req-1", "content"))
            self.assertIn(f"planned {code}", str(error))
            self.assertEqual(len(received), 1)

    def test_foreign_answers_are_errors(self):
        page = lambda: httpx.Response(502, text="<h1>Bad gateway</h1>" + "x" * 10_000)  # noqa: E731
        error, _ = self.run_([page], lambda c: c.memories.get("a"), retries_max=0)
        self.assertEqual((error.status, error.code), (502, "unknown"))
        self.assertIn("Bad gateway", str(error))
        self.assertLess(len(str(error)), 400)
        for body in (b"<html>", b"[]", b"{}", b"null", b'{"id": 1}'):
            error, _ = self.run_([lambda body=body: httpx.Response(200, content=body)], lambda c: c.memories.get("a"))
            self.assertIs(type(error), sdk.InvalidAnswerError)
        redirect = lambda: httpx.Response(302, headers={"location": "http://other.test/"})  # noqa: E731
        error, received = self.run_([redirect], lambda c: c.memories.get("a"), retries_max=0)
        self.assertIs(type(error), sdk.ApiConnectionError)
        self.assertEqual(len(received), 1)

    def test_new_values_and_fields_are_no_errors(self):
        newer = {**memory(), "status": "resting", "colour": "blue"}
        found, _ = self.run_([json_(newer)], lambda c: c.memories.get("a"))
        self.assertEqual((found.status, found["colour"], found.metadata["a"]), ("resting", "blue", 1))
        self.assertEqual(found.created_at.isoformat(), "2026-11-23T10:00:00+00:00")

    def test_a_write_is_repeated_under_one_key(self):
        busy = fault(503, "overloaded", retry_after_seconds=0)
        answers = [httpx.ConnectError("planned"), busy, json_(memory(), 202)]
        found, received = self.run_(answers, lambda c: c.memories.add("a"))
        self.assertEqual(found.id, "mem_1")
        keys = {request.headers["idempotency-key"] for request in received}
        self.assertEqual((len(received), len(keys)), (3, 1))
        _, received = self.run_([json_(memory())], lambda c: c.memories.add("a", idempotency_key="mine", request_id="r"))
        self.assertEqual(received[0].headers["idempotency-key"], "mine")
        self.assertEqual(received[0].headers["x-request-id"], "r")
        self.assertEqual(received[0].headers["authorization"], "Bearer ctx_test")
        self.assertTrue(received[0].headers["user-agent"].startswith("mneme-client-python/"))

    def test_retry_after_is_obeyed(self):
        begun = time.monotonic()
        _, received = self.run_([fault(429, "rate_limit_exceeded", "1"), json_(memory())], lambda c: c.memories.get("a"))
        self.assertGreaterEqual(time.monotonic() - begun, 1)
        self.assertEqual(len(received), 2)
        error, received = self.run_([fault(429, "query_quota_exceeded", "3600")], lambda c: c.memories.query("a"))
        self.assertEqual((type(error), error.retry_after_seconds, len(received)), (sdk.RateLimitError, 3600, 1))
        error, received = self.run_([fault(429, "rate_limit_exceeded", "0")], lambda c: c.memories.get("a"), retries_max=4)
        self.assertEqual((type(error), len(received)), (sdk.RateLimitError, 5))

    def test_a_query_is_repeated_only_if_nothing_was_done(self):
        whole = {"answer": "a", "sources": [], "usage": {"tokens_used": 0}}
        busy = fault(503, "overloaded", retry_after_seconds=0)
        found, _ = self.run_([busy, json_(whole)], lambda c: c.memories.query("where?"))
        self.assertEqual(found.answer, "a")
        for failure in (fault(500, "internal_error"), httpx.ReadTimeout("planned")):
            error, received = self.run_([failure], lambda c: c.memories.query("where?"))
            self.assertIsInstance(error, sdk.MnemeError)
            self.assertEqual(len(received), 1)

    def test_a_first_attempt_that_still_runs_is_waited_for(self):
        conflict = fault(409, "idempotency_conflict")
        found, _ = self.run_([fault(500, "internal_error"), conflict, json_(memory())], lambda c: c.memories.add("a"))
        self.assertEqual(found.id, "mem_1")
        error, received = self.run_([conflict], lambda c: c.memories.add("a", idempotency_key="k"))
        self.assertEqual((type(error), len(received)), (sdk.ConflictError, 1))

    def test_a_deletion_whose_answer_was_lost_is_a_success(self):
        gone = fault(404, "memory_not_found")
        self.assertIsNone(self.run_([httpx.ReadError("planned"), gone], lambda c: c.memories.delete("a"))[0])
        self.assertIs(type(self.run_([gone], lambda c: c.memories.delete("a"))[0]), sdk.NotFoundError)

    def test_timeouts_and_servers_that_are_not_there(self):
        error, received = self.run_([httpx.ReadTimeout("planned")], lambda c: c.memories.get("a"), retries_max=1)
        self.assertEqual((type(error), len(received)), (sdk.ApiTimeoutError, 2))
        error, _ = self.run_([httpx.ConnectError("planned")], lambda c: c.memories.get("a"), retries_max=0)
        self.assertIn("http://mneme.test/v1", str(error))

    def test_waiting(self):
        processing = json_(memory(status="processing"), 202)
        found, received = self.run_([processing, processing, json_(memory())], lambda c: c.memories.add("a", wait=True))
        self.assertEqual((found.status, [r.method for r in received]), ("completed", ["POST", "GET", "GET"]))
        failed, _ = self.run_([processing, json_(memory(status="failed"))], lambda c: c.memories.add("a", wait=True))
        self.assertEqual((type(failed), failed.memory.status), (sdk.ProcessingError, "failed"))
        self.assertIn("The file is damaged.", str(failed))
        late, _ = self.run_([processing], lambda c: c.memories.add("a", wait=True, wait_timeout=0.1))
        self.assertEqual((type(late), late.memory.id), (sdk.WaitTimeoutError, "mem_1"))

    def test_lists(self):
        def page(*ids, cursor):
            return json_({"data": [memory(each) for each in ids], "has_more": cursor is not None, "cursor": cursor})

        found, received = self.run_(
            [page("a", "b", cursor="c1"), page("c", cursor=None)],
            lambda c: c.memories.list(limit=2, tag="a b").take(99),
        )
        self.assertEqual([each.id for each in found], ["a", "b", "c"])
        self.assertEqual(dict(received[1].url.params), {"limit": "2", "cursor": "c1", "tag": "a b"})
        found, received = self.run_([page("a", "b", cursor="c1")], lambda c: c.memories.list().take(1))
        self.assertEqual((len(found), len(received)), (1, 1))
        error, _ = self.run_([page("a", cursor="c1")], lambda c: c.memories.list().take(99))
        self.assertIs(type(error), sdk.InvalidAnswerError)
        large = {**memory(), "content": "ü" * 2_000_000}
        found, _ = self.run_([json_({"data": [large] * 10, "has_more": False, "cursor": None})], lambda c: c.memories.list().take(99))
        self.assertEqual([len(each.content) for each in found], [2_000_000] * 10)

    def test_streams(self):
        framed = (": keep-alive\n\n" + TEXT + "event: thinking\ndata: {}\n\n" + REST + DONE).replace("\n", "\r\n")
        for text in (TEXT + REST + DONE, framed):
            answer, received = self.whole(text)
            self.assertEqual((answer.answer, answer.sources, answer.usage.tokens_used), ("Under the pot [1].", [], 7))
            self.assertEqual(answer.answer_state, "answered")
            self.assertEqual(json.loads(received[0].content), {"query": "where?", "stream": True})
        _, received = self.whole(TEXT + REST + DONE, lambda client: client.chats.stream("chat_1", "where?"))
        self.assertIn("idempotency-key", received[0].headers)

    def test_streams_that_break(self):
        for text in (
            TEXT + REST,
            TEXT + 'event: text\ndata: {"con',
            TEXT + 'event: text\ndata: {"con\n\n' + DONE,
            TEXT + "event: text\ndata: {}\n\n" + DONE,
            TEXT + 'event: text\ndata: {"content": 5}\n\n' + DONE,
            TEXT + "event: usage\ndata: null\n\n" + DONE,
        ):
            error, received = self.whole(text)
            self.assertIs(type(error), sdk.StreamError, text)
            self.assertTrue(error.text_so_far.startswith("Under the "))
            self.assertEqual(len(received), 1)
        reported = {"error": {"code": "llm_timeout", "message": "too slow", "status": 504}}
        error, _ = self.whole(TEXT + f"event: error\ndata: {json.dumps(reported)}\n\n")
        self.assertEqual((type(error), error.code, error.status), (sdk.ServerError, "llm_timeout", 504))
        opened = lambda client: client.memories.query_stream("where?")  # noqa: E731
        error, _ = self.run_([fault(400, "invalid_filter")], opened)
        self.assertIs(type(error), sdk.InvalidRequestError)
        error, _ = self.run_([json_({})], opened)
        self.assertIs(type(error), sdk.InvalidAnswerError)

    def test_completions(self):
        def chunk(content):
            choice = {"index": 0, "delta": {"content": content}, "logprobs": None, "finish_reason": None}
            head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "mneme"}
            return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"

        messages = [{"role": "user", "content": "where?"}]
        if self.is_async:

            async def read(client):
                stream = await client.completions.stream(messages)
                return "".join([each.choices[0].delta.content async for each in stream])
        else:

            def read(client):
                return "".join(each.choices[0].delta.content for each in client.completions.stream(messages))

        text = chunk("Under") + chunk(" it")
        self.assertEqual(self.run_([stream(text + "data: [DONE]\n\n")], read)[0], "Under it")
        for broken in (text, text + 'data: {"id": 3}\n\n', text + "data: [1]\n\n"):
            error, _ = self.run_([stream(broken)], read)
            self.assertEqual((type(error), error.text_so_far), (sdk.StreamError, "Under it"))
        error, _ = self.run_([stream('data: {"error":{"message":"no","code":"llm_error"}}\n\n')], read)
        self.assertEqual((type(error), error.code), (sdk.ServerError, "llm_error"))

    def test_uploads_are_sent_whole_each_time(self):
        steps = []
        busy = fault(503, "overloaded", retry_after_seconds=0)
        file = io.BytesIO(b"before" + b"x" * 300_000)
        file.seek(6)
        given = {"filename": "a.txt", "tags": ["a"], "metadata": {"n": 1}, "user_id": "ada"}
        _, received = self.run_(
            [busy, json_(memory())],
            lambda c: c.memories.upload(file, **given, on_progress=lambda *step: steps.append(step)),
        )
        for request in received:
            self.assertEqual(request.content.count(b"x" * 300_000), 1)
            self.assertNotIn(b"before", request.content)
            for part in (b'name="tags"\r\n\r\n["a"]', b'name="metadata"\r\n\r\n{"n": 1}', b'filename="a.txt"'):
                self.assertIn(part, request.content)
            self.assertNotIn(b'name="title"', request.content)
        self.assertEqual(steps[-1], (300_000, 300_000))


class Synchronous(BothClients, unittest.TestCase):
    def test_a_server_that_goes_away_leaves_the_text_so_far(self):
        listener = socket.create_server(("127.0.0.1", 0))
        may_vanish = threading.Event()

        def serve():
            connection, _ = listener.accept()
            connection.recv(65_536)
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(f"{head}{len(TEXT):x}\r\n{TEXT}\r\n".encode())
            may_vanish.wait()
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        client = sdk.Mneme(f"http://127.0.0.1:{listener.getsockname()[1]}", "ctx_a")
        with self.assertRaises(sdk.StreamError) as caught, client.memories.query_stream("where?") as answer:
            for event in answer:
                self.assertEqual(event.event, "text")
                may_vanish.set()
        self.assertEqual(caught.exception.text_so_far, "Under the ")
        thread.join()
        listener.close()
        client.close()


class Asynchronous(BothClients, unittest.TestCase):
    is_async = True


class Settings(unittest.TestCase):
    def test_addresses(self):
        for given in ("ftp://a", "nonsense", "http://a:b@c", "http://a/?b=c", "http://", "http://[a"):
            with self.assertRaises(sdk.MnemeError):
                sdk.Mneme(given, "ctx_a")
        for end in ("", "/", "/v1", "/v1/"):
            _, received = run([json_(memory())], lambda c: c.memories.get("a/b é"), False, base_url="http://m.test:1" + end)
            self.assertEqual(str(received[0].url), "http://m.test:1/v1/memories/a%2Fb%20%C3%A9")

    def test_keys_and_limits(self):
        os.environ.pop("MNEME_API_KEY", None)
        for settings in ({}, {"api_key": "a\nb"}, {"api_key": "a", "timeout": 0}, {"api_key": "a", "retries_max": -1}):
            with self.assertRaises(sdk.MnemeError):
                sdk.Mneme(**settings)
        client = sdk.Mneme(api_key="ctx_secret")
        self.assertNotIn("ctx_secret", repr(client) + repr(vars(client._transport)))
        with self.assertRaises(sdk.MnemeError):
            import datetime

            client.memories.add("a", expires_at=datetime.datetime(2030, 1, 1))  # noqa: DTZ001

    def test_the_version_is_the_servers(self):
        self.assertEqual(sdk.__version__, os.environ["SERVER_VERSION"])


class Webhooks(unittest.TestCase):
    """A message that the library standardwebhooks for JavaScript signed is in the environment."""

    def setUp(self):
        self.message = json.loads(os.environ["SIGNED_MESSAGE"])
        self.now = int(self.message["headers"]["webhook-timestamp"]) + 20

    def verify(self, body=None, secret=None, now=None, tolerance_seconds=300, **headers):
        given = {**self.message["headers"], **{name.replace("_", "-"): value for name, value in headers.items()}}
        return sdk.verify_webhook(
            self.message["body"] if body is None else body,
            given,
            secret or self.message["secret"],
            now=now or self.now,
            tolerance_seconds=tolerance_seconds,
        )

    def test_of_the_server_are_read(self):
        self.assertEqual(self.verify()["type"], "webhook.test")
        self.assertEqual(self.verify(body=self.message["body"].encode())["type"], "webhook.test")
        self.assertEqual(self.verify(secret=["whsec_YWJj", self.message["secret"]])["type"], "webhook.test")
        two = "v1,AAAA v1a,x " + self.message["headers"]["webhook-signature"]
        self.assertEqual(self.verify(webhook_signature=two)["type"], "webhook.test")
        self.assertEqual(self.verify(now=self.now + 300, tolerance_seconds=400)["type"], "webhook.test")

    def test_of_others_are_refused(self):
        for change in (
            {"body": self.message["body"] + " "},
            {"secret": "whsec_YWJj"},
            {"secret": "whsec_"},
            {"webhook_id": "other"},
            {"webhook_signature": "v1,***"},
            {"webhook_signature": ""},
            {"webhook_timestamp": "soon"},
            {"webhook_timestamp": "²"},
            {"now": self.now + 301},
            {"now": self.now - 400},
        ):
            with self.assertRaises(sdk.WebhookVerificationError):
                self.verify(**change)


if __name__ == "__main__":
    print(sys.version)
    unittest.main()
