"""Read any project."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_project."""

    return {
        "method": "get",
        "url": "/projects/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
