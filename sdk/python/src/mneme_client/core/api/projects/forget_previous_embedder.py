"""Delete the vectors that a project keeps of its previous embedding model for a rollback."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of forget_previous_embedder."""

    return {
        "method": "delete",
        "url": "/projects/{id}/embedder/previous".format(
            id=quote(str(id), safe=""),
        ),
    }
