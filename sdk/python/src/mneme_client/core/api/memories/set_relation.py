"""Say what a memory is to another one, such as that it supersedes it. It replaces what was found of the two; nothing is hidden or deleted."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of set_relation."""

    return {
        "method": "put",
        "url": "/memories/{id}/relations".format(
            id=quote(str(id), safe=""),
        ),
    }
