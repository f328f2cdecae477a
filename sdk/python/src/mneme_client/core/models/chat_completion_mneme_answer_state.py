from __future__ import annotations

from typing import Literal

ChatCompletionMnemeAnswerState = Literal["answered", "not_found", "partial"]


def check_chat_completion_mneme_answer_state(value: str) -> ChatCompletionMnemeAnswerState:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
