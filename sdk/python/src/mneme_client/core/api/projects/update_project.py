"""Change any project, including its plan."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of update_project."""

    return {
        "method": "put",
        "url": "/projects/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
