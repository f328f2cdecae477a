from __future__ import annotations

from typing import Literal

OpenAiErrorErrorType = Literal["insufficient_quota", "invalid_request_error", "rate_limit_error", "server_error"]


def check_open_ai_error_error_type(value: str) -> OpenAiErrorErrorType:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
