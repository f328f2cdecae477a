"""Fetch and check the files of a model again whose installation has failed."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of retry_installed_model."""

    return {
        "method": "post",
        "url": "/installed-models/{id}/retry".format(
            id=quote(str(id), safe=""),
        ),
    }
