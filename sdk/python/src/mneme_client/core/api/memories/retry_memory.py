"""Process a failed memory again."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of retry_memory."""

    return {
        "method": "post",
        "url": "/memories/{id}/retry".format(
            id=quote(str(id), safe=""),
        ),
    }
