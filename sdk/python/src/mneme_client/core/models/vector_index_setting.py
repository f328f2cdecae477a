from __future__ import annotations

from typing import Literal

VectorIndexSetting = Literal["auto", "hnsw", "scan"]


def check_vector_index_setting(value: str) -> VectorIndexSetting:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
