"""Read a model."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_model."""

    return {
        "method": "get",
        "url": "/models/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
