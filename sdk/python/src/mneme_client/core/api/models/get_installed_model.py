"""Read a model: whether it can be used, and the progress of its download."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_installed_model."""

    return {
        "method": "get",
        "url": "/installed-models/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
