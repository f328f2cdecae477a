"""What the synchronous and the asynchronous client share: settings, bodies, repetitions, event streams, uploads."""

from __future__ import annotations

import codecs
import datetime
import io
import json
import os
import random
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable, Literal, NamedTuple, TypedDict, Union
from urllib.parse import urlsplit

from .core.types import Unset
from .errors import ApiConnectionError, ApiError, MnemeError

VERSION = "0.1.0"

DEFAULT_URL = "http://127.0.0.1:8383"
TIMEOUT_SECONDS = 60.0
RETRIES_MAX = 2
WAIT_SECONDS_MAX = 60.0
#: Pauses between looks at a memory, from the first to the longest. A short text takes about 50 ms.
FIRST_LOOK_SECONDS = 0.04
LOOK_SECONDS_MAX = 1.0

#: Pauses before repetitions grow from here, doubled each time, up to the maximum.
_FIRST_PAUSE_SECONDS = 0.5
_PAUSE_SECONDS_MAX = 8.0
#: A longer pause that the server asks for (the end of a monthly quota) is not waited for.
_RETRY_AFTER_SECONDS_MAX = 60.0
#: Maximum share of a requested pause that is added at random, so that clients do not come back all at once.
_JITTER = 0.25
#: Longest event of a stream in characters; the sources of an answer take a hundredth of it.
_EVENT_CHARACTERS_MAX = 16 * 1024 * 1024

#: When a call may be repeated. `always`: doing it twice is the same as once. `keyed`: an Idempotency-Key makes it so.
#: `refused`: only if the server says that it did nothing (429, 503).
Repeatable = Literal["always", "keyed", "refused"]

Json = Mapping[str, Any]
Moment = Union[str, datetime.datetime, datetime.date]


class CallOptions(TypedDict, total=False):
    """Options of every call."""

    #: Limit in seconds for connecting, and for each silence while the answer arrives. Default: that of the client.
    timeout: float
    #: Maximum number of repetitions of a call that failed. Default: that of the client.
    retries_max: int
    #: Id of the request in the server's log. Default: the server makes one.
    request_id: str


class WriteOptions(CallOptions, total=False):
    """Options of a call that changes something."""

    #: Two calls with the same key within 24 hours do the work once. Default: a new key per call, so that repetitions of
    #: this call are safe.
    idempotency_key: str


class Settings(NamedTuple):
    """Settings of a client."""

    #: Address of the API, with `/v1`.
    base_url: str
    api_key: str
    timeout: float
    retries_max: int

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r})"


def settings_of(base_url: str | None, api_key: str | None, timeout: float, retries_max: int) -> Settings:
    """Check settings, and complete them from MNEME_URL and MNEME_API_KEY."""
    if not 0 < timeout < 1_000_000:
        raise MnemeError("'timeout' must be a number of seconds above 0.")
    if retries_max < 0:
        raise MnemeError("'retries_max' must be 0 or more.")
    key = api_key or os.environ.get("MNEME_API_KEY") or ""
    if key == "":
        raise MnemeError("The API key is missing: pass 'api_key', or set MNEME_API_KEY.")
    if not re.fullmatch(r"[!-~]+", key):
        raise MnemeError("The API key has characters that no key has, such as a line break.")
    return Settings(_api_address(base_url or os.environ.get("MNEME_URL") or DEFAULT_URL), key, timeout, retries_max)


def _api_address(given: str) -> str:
    try:
        url = urlsplit(given)
        is_sound = url.scheme in ("http", "https") and bool(url.hostname) and not url.query and not url.fragment
    except ValueError:
        is_sound = False
    if not is_sound:
        raise MnemeError(f"'base_url' must be an http or https address such as {DEFAULT_URL}.")
    if url.username is not None or url.password is not None:
        raise MnemeError("'base_url' must not contain a user or password: the key is sent as a header.")
    path = url.path.rstrip("/")
    return f"{url.scheme}://{url.netloc}{path if path.endswith('/v1') else path + '/v1'}"


def headers_of(settings: Settings, repeatable: Repeatable, options: WriteOptions) -> dict[str, str]:
    """Headers of all attempts of a call."""
    headers = {"Authorization": f"Bearer {settings.api_key}", "User-Agent": f"mneme-client-python/{VERSION}"}
    key = options.get("idempotency_key") or (str(uuid.uuid4()) if repeatable == "keyed" else None)
    if key is not None:
        headers["Idempotency-Key"] = key
    if "request_id" in options:
        headers["X-Request-Id"] = options["request_id"]
    return headers


#: Names of fields of the API that are others in Python.
_API_NAMES = {
    "user_id": "userId",
    "agent_id": "agentId",
    "session_id": "sessionId",
    "external_id": "externalId",
    "project_id": "projectId",
    "max_sources": "maxSources",
    "include_graph": "includeGraph",
    "as_of": "asOf",
    "known_at": "knownAt",
    "dry_run": "dryRun",
}


def body_of(**fields: Any) -> dict[str, Any]:
    """A body with the names of the API: without fields that were not given, and with times as texts."""
    given = {name: value for name, value in fields.items() if not isinstance(value, Unset)}
    return {_API_NAMES.get(name, name): plain(value) for name, value in given.items()}


def plain(value: Any) -> Any:
    """A value as JSON has it; times as texts, also those in lists and maps such as filters."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        raise MnemeError("A time needs a time zone, such as datetime.timezone.utc.")
    if isinstance(value, datetime.date):  # every datetime is a date
        return value.isoformat()
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise MnemeError(f"A value of the type {type(value).__name__} cannot be sent as JSON.")


def moment_of(value: Moment | Unset) -> str | Unset:
    """A time as a parameter of a query."""
    return value if isinstance(value, Unset) else str(plain(value))


def json_of(value: Json | Unset) -> str | Unset:
    """A value as a parameter of a query that is JSON."""
    return value if isinstance(value, Unset) else json.dumps(value)


def form_of(**fields: Any) -> dict[str, str]:
    """Fields of a form: lists and maps as JSON, nothing for None."""
    given = {name: value for name, value in body_of(**fields).items() if value is not None}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}


def pause_before(failure: MnemeError, repeatable: Repeatable, retries: int) -> float | None:
    """The pause before the next attempt in seconds; None if there is none."""
    if not _is_transient(failure, repeatable, retries):
        return None
    asked = failure.retry_after_seconds if isinstance(failure, ApiError) else None
    if asked is not None and asked > _RETRY_AFTER_SECONDS_MAX:
        return None
    chance = random.random()  # noqa: S311 no secret
    if asked is not None:
        return asked * (1 + _JITTER * chance)
    # between half and all of the pause
    pause: float = min(_FIRST_PAUSE_SECONDS * 2**retries, _PAUSE_SECONDS_MAX)
    return pause * (1 - chance / 2)


def _is_transient(failure: MnemeError, repeatable: Repeatable, retries: int) -> bool:
    is_safe = repeatable != "refused"
    if isinstance(failure, ApiConnectionError):
        return is_safe
    if not isinstance(failure, ApiError):
        return False
    # without a time, a 429 is a quota that does not come back
    if failure.status == 429:
        return failure.retry_after_seconds is not None
    if failure.status == 503:
        return True
    # the first attempt, whose answer was lost, is still running
    if failure.code == "idempotency_conflict":
        return repeatable == "keyed" and retries > 0
    return is_safe and failure.status in (500, 502, 504) and not failure.code.startswith("llm_")


class SentEvent(NamedTuple):
    """One event of a stream as it was sent."""

    #: Empty if the event has no name.
    name: str
    data: str


class BrokenStreamError(Exception):
    """A stream that is not in the format, or ends too early."""


class EventDecoder:
    """Reads a `text/event-stream` (WHATWG HTML, "Server-sent events") from pieces of bytes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._text = ""

    def feed(self, data: bytes) -> Iterator[SentEvent]:
        """The events that are complete. Comments are skipped."""
        try:
            self._text += self._decoder.decode(data)
        except UnicodeDecodeError as error:
            raise BrokenStreamError("it is not UTF-8") from error
        # A CR at the end may be the first half of a line break.
        held = "\r" if self._text.endswith("\r") else ""
        usable = self._text[: len(self._text) - len(held)]
        *blocks, rest = re.split(r"\r\n\r\n|\n\n|\r\r", usable)
        self._text = rest + held
        if len(self._text) > _EVENT_CHARACTERS_MAX:
            raise BrokenStreamError("an event is too long")
        for block in blocks:
            event = _event_of(block)
            if event is not None:
                yield event


def _event_of(block: str) -> SentEvent | None:
    name = ""
    data: list[str] = []
    # not splitlines(), because U+2028 can be in a line of data
    for line in re.split(r"\r\n|\n|\r", block):
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
    return SentEvent(name, "\n".join(data)) if data else None


Progress = Callable[[int, int], None]


class UploadFile:
    """A file to send, which can be read again for a repetition."""

    def __init__(self, file: Any, filename: str | None, on_progress: Progress | None) -> None:
        self._file = file
        self._on_progress = on_progress
        self._start = 0
        if isinstance(file, (str, os.PathLike)):
            self.filename = filename or Path(file).name
        else:
            self.filename = filename or Path(str(getattr(file, "name", "upload"))).name
            if hasattr(file, "read"):
                self._keep()

    def _keep(self) -> None:
        if self._file.seekable():
            self._start = self._file.tell()
        else:
            self._file = self._file.read()

    def open(self) -> CountedFile:
        """The file, from the position at which it was given."""
        if isinstance(self._file, (str, os.PathLike)):
            return CountedFile(Path(self._file).open("rb"), self._on_progress, closes=True)
        if isinstance(self._file, (bytes, bytearray)):
            return CountedFile(io.BytesIO(self._file), self._on_progress, closes=True)
        self._file.seek(self._start)
        return CountedFile(self._file, self._on_progress, closes=False)


class CountedFile:
    """A file that reports how much of it was read."""

    def __init__(self, file: Any, on_progress: Progress | None, *, closes: bool) -> None:
        self._file = file
        self._on_progress = on_progress
        self._closes = closes
        self._start: int = file.tell()
        self._total: int = file.seek(0, os.SEEK_END) - self._start
        file.seek(self._start)

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data: bytes = self._file.read(size)
        if self._on_progress is not None:
            self._on_progress(self._file.tell() - self._start, self._total)
        return data

    def tell(self) -> int:
        """Number of bytes from where the file begins to be read."""
        return int(self._file.tell()) - self._start

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move in the file."""
        to = offset + self._start if whence == os.SEEK_SET else offset
        return int(self._file.seek(to, whence)) - self._start

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._closes:
            self._file.close()
