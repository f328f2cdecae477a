from __future__ import annotations

from typing import Literal

ModelMnemeTask = Literal["chat", "embeddings"]


def check_model_mneme_task(value: str) -> ModelMnemeTask:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
