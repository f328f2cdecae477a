from __future__ import annotations

from typing import Literal

ChatCompletionChoicesItemFinishReason = Literal["content_filter", "length", "stop"]


def check_chat_completion_choices_item_finish_reason(value: str) -> ChatCompletionChoicesItemFinishReason:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
