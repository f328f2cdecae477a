"""Read how the vectors of a project are searched, and the progress of the graph (HNSW) that is being built. Of several nodes, each builds its own: the answer is about the one that gives it."""

from __future__ import annotations

from typing import Any

from ...types import UNSET, Unset


def request(
    *,
    project_id: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of get_vector_index."""
    params: dict[str, Any] = {}

    params["projectId"] = project_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "get",
        "url": "/project/vector-index",
        "params": params,
    }
