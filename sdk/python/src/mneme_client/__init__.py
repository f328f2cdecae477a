"""The client of Mneme, a self-hosted memory and retrieval engine. README.md is a tour."""

from ._async.client import AsyncMneme
from ._async.lists import AsyncList
from ._async.streams import AnswerEvent, AsyncAnswerStream, AsyncCompletionStream
from ._shared import VERSION
from ._sync.client import Mneme
from ._sync.lists import List
from ._sync.streams import AnswerStream, CompletionStream
from .core.types import UNSET, Unset
from .errors import (
    ApiConnectionError,
    ApiError,
    ApiTimeoutError,
    AuthenticationError,
    ConflictError,
    InvalidAnswerError,
    InvalidRequestError,
    MnemeError,
    NotFoundError,
    PermissionDeniedError,
    ProcessingError,
    RateLimitError,
    ServerError,
    StreamError,
    WaitTimeoutError,
    WebhookVerificationError,
)
from .webhook import verify_webhook

__version__ = VERSION

__all__ = [
    "UNSET",
    "AnswerEvent",
    "AnswerStream",
    "ApiConnectionError",
    "ApiError",
    "ApiTimeoutError",
    "AsyncAnswerStream",
    "AsyncCompletionStream",
    "AsyncList",
    "AsyncMneme",
    "AuthenticationError",
    "CompletionStream",
    "ConflictError",
    "InvalidAnswerError",
    "InvalidRequestError",
    "List",
    "Mneme",
    "MnemeError",
    "NotFoundError",
    "PermissionDeniedError",
    "ProcessingError",
    "RateLimitError",
    "ServerError",
    "StreamError",
    "Unset",
    "WaitTimeoutError",
    "WebhookVerificationError",
    "__version__",
    "verify_webhook",
]
