from __future__ import annotations

from typing import Literal

QueryResultAnswerState = Literal["answered", "not_found", "partial"]


def check_query_result_answer_state(value: str) -> QueryResultAnswerState:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
