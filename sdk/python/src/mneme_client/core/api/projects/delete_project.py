"""Delete a project with everything in it, and revoke its keys."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of delete_project."""

    return {
        "method": "delete",
        "url": "/projects/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
