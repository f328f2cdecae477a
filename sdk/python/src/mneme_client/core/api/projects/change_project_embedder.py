"""Change a project's embedding model. Vectors of the new model are built in the background and swapped in when all are there; searches use the old ones until then."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of change_project_embedder."""

    return {
        "method": "put",
        "url": "/projects/{id}/embedder".format(
            id=quote(str(id), safe=""),
        ),
    }
