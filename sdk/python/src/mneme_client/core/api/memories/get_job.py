"""Read the progress of a deletion. It can be read for 7 days after its end."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_job."""

    return {
        "method": "get",
        "url": "/jobs/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
