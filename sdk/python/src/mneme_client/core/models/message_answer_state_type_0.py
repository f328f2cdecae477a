from __future__ import annotations

from typing import Literal

MessageAnswerStateType0 = Literal["answered", "not_found", "partial"]


def check_message_answer_state_type_0(value: str) -> MessageAnswerStateType0:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
