"""Cancel the change of a project's embedding model. The vectors built so far are deleted."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of cancel_project_embedder."""

    return {
        "method": "delete",
        "url": "/projects/{id}/embedder".format(
            id=quote(str(id), safe=""),
        ),
    }
