"""Read a model whose id has a slash that is not percent-encoded, such as `mneme/fast`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
    mode: str,
) -> dict[str, Any]:
    """Method, path and query of get_model_by_parts."""

    return {
        "method": "get",
        "url": "/models/{id}/{mode}".format(
            id=quote(str(id), safe=""),
            mode=quote(str(mode), safe=""),
        ),
    }
