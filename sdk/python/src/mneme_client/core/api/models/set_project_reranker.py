"""Choose the reranker of a project; null: the one that belongs to its embedding model."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of set_project_reranker."""

    return {
        "method": "put",
        "url": "/projects/{id}/reranker".format(
            id=quote(str(id), safe=""),
        ),
    }
