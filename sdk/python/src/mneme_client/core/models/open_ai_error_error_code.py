from __future__ import annotations

from typing import Literal

OpenAiErrorErrorCode = Literal[
    "batch_too_large",
    "case_not_found",
    "chat_not_found",
    "delivery_not_found",
    "document_quota_exceeded",
    "entity_not_found",
    "external_id_conflict",
    "fetch_failed",
    "file_not_found",
    "idempotency_conflict",
    "insufficient_scope",
    "internal_error",
    "invalid_api_key",
    "invalid_cursor",
    "invalid_filter",
    "invalid_request",
    "invalid_state",
    "job_not_found",
    "key_not_found",
    "llm_error",
    "llm_timeout",
    "memory_not_found",
    "metadata_too_large",
    "method_not_allowed",
    "missing_api_key",
    "model_not_found",
    "model_unavailable",
    "not_found",
    "overloaded",
    "payload_too_large",
    "project_not_found",
    "query_quota_exceeded",
    "range_not_satisfiable",
    "rate_limit_exceeded",
    "relation_not_found",
    "run_not_found",
    "storage_quota_exceeded",
    "too_many_tags",
    "unavailable",
    "unsafe_url",
    "unsupported_media_type",
    "user_not_found",
    "webhook_limit_reached",
    "webhook_not_found",
]


def check_open_ai_error_error_code(value: str) -> OpenAiErrorErrorCode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
