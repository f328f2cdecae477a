from __future__ import annotations

from typing import Literal

ChatCompletionChunkChoicesItemFinishReasonType0 = Literal["content_filter", "length", "stop"]


def check_chat_completion_chunk_choices_item_finish_reason_type_0(
    value: str,
) -> ChatCompletionChunkChoicesItemFinishReasonType0:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
