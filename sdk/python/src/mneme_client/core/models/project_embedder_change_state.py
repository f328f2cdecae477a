from __future__ import annotations

from typing import Literal

ProjectEmbedderChangeState = Literal["building", "cancelled", "done", "failed"]


def check_project_embedder_change_state(value: str) -> ProjectEmbedderChangeState:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
