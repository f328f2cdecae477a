"""Errors of the client.

Every error that a call raises is a MnemeError, except that of a file to upload that cannot be read. An answer of the
server with a status of 400 or more is an ApiError of a class for its status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core.models.memory import Memory

_QUOTED_CHARACTERS_MAX = 200


class MnemeError(Exception):
    """Any error of this client."""


class ApiError(MnemeError):
    """An answer of the server with an error."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        request_id: str | None,
        param: str | None = None,
        retry_after_seconds: float | None = None,
        items: list[Any] | None = None,
    ) -> None:
        super().__init__(f"{message} ({status} {code}, request {request_id or 'without an id'})")
        self.status = status
        #: Code of the error, such as `memory_not_found`. Newer servers can have more.
        self.code = code
        #: The server's log contains it, too.
        self.request_id = request_id
        #: The field, query parameter or header that is wrong.
        self.param = param
        #: How long to wait; None if waiting does not help, or the server does not say.
        self.retry_after_seconds = retry_after_seconds
        #: Errors of single items of a batch.
        self.items = items or []


class InvalidRequestError(ApiError):
    """The request is wrong: 400, 413, 415 or 422."""


class AuthenticationError(ApiError):
    """The API key is missing, unknown, expired or revoked: 401."""


class PermissionDeniedError(ApiError):
    """The API key may not do this: 403."""


class NotFoundError(ApiError):
    """What the request names does not exist for this key: 404."""


class ConflictError(ApiError):
    """The request conflicts with the state of the server: 409."""


class RateLimitError(ApiError):
    """A rate limit or quota is used up: 429."""


class ServerError(ApiError):
    """The server failed or is busy: 500 and above."""


class ApiConnectionError(MnemeError):
    """No answer arrived: the server cannot be reached, or the connection broke."""


class ApiTimeoutError(ApiConnectionError):
    """No answer arrived in time."""


class InvalidAnswerError(MnemeError):
    """An answer that is not in the format of the API. Something else than Mneme may be at this address."""


class StreamError(MnemeError):
    """A streamed answer broke off or is damaged."""

    def __init__(self, message: str, text_so_far: str) -> None:
        super().__init__(message)
        #: The text that arrived before.
        self.text_so_far = text_so_far


class ProcessingError(MnemeError):
    """A memory was accepted, but did not become searchable. It is stored all the same."""

    def __init__(self, message: str, memory: Memory) -> None:
        super().__init__(message)
        #: The memory as it was last seen.
        self.memory = memory


class WaitTimeoutError(ProcessingError):
    """A memory was accepted and is still being processed after the time that the caller waits."""


class WebhookVerificationError(MnemeError):
    """A webhook message that is not from the server, is damaged, or is too old."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    422: InvalidRequestError,
    429: RateLimitError,
}


def api_error(status: int, body: Any, request_id: str | None = None, retry_after: str | None = None) -> ApiError:
    """Make the error of an answer in Mneme's form, OpenAI's form, or that of a proxy (a text)."""
    found = body.get("error") if isinstance(body, Mapping) else None
    error: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    text = body.strip()[:_QUOTED_CHARACTERS_MAX] if isinstance(body, str) else ""
    actual = error.get("status")
    status = actual if isinstance(actual, int) else status
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    seconds = _seconds(retry_after)
    return kind(
        str(error.get("message") or f"The server answered {status}. {text}".strip()),
        status=status,
        code=str(error.get("code") or "unknown"),
        request_id=request_id or error.get("request_id"),
        param=error.get("param"),
        retry_after_seconds=_seconds(error.get("retry_after_seconds")) if seconds is None else seconds,
        items=error.get("items"),
    )


def _seconds(value: Any) -> float | None:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < float("inf") else None
