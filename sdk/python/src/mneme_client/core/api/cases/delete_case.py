"""Delete a case."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of delete_case."""

    return {
        "method": "delete",
        "url": "/cases/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
