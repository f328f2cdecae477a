from __future__ import annotations

from typing import Literal

VectorIndexActive = Literal["hnsw", "scan"]


def check_vector_index_active(value: str) -> VectorIndexActive:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
