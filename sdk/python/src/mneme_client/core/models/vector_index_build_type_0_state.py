from __future__ import annotations

from typing import Literal

VectorIndexBuildType0State = Literal["building", "failed"]


def check_vector_index_build_type_0_state(value: str) -> VectorIndexBuildType0State:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
