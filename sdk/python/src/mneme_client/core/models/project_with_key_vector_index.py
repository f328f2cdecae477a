from __future__ import annotations

from typing import Literal

ProjectWithKeyVectorIndex = Literal["auto", "hnsw", "scan"]


def check_project_with_key_vector_index(value: str) -> ProjectWithKeyVectorIndex:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
