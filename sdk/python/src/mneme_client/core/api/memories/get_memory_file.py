"""Read the file that a memory was made from, if the project keeps files (`keep_files`). One `Range` of bytes is answered with 206, several with the whole file."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_memory_file."""

    return {
        "method": "get",
        "url": "/memories/{id}/file".format(
            id=quote(str(id), safe=""),
        ),
    }
