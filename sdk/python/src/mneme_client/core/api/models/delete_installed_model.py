"""Delete a model that was added, with its files. One that a project uses cannot be deleted."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of delete_installed_model."""

    return {
        "method": "delete",
        "url": "/installed-models/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
