from __future__ import annotations

from typing import Literal

ListedProjectVectorIndex = Literal["auto", "hnsw", "scan"]


def check_listed_project_vector_index(value: str) -> ListedProjectVectorIndex:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
