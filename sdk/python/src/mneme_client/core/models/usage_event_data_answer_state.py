from __future__ import annotations

from typing import Literal

UsageEventDataAnswerState = Literal["answered", "not_found", "partial"]


def check_usage_event_data_answer_state(value: str) -> UsageEventDataAnswerState:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
