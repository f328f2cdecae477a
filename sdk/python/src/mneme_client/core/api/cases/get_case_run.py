"""Read the progress of a run and, when it is completed, its results by mode."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of get_case_run."""

    return {
        "method": "get",
        "url": "/cases/runs/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
