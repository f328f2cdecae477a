"""Let a model compute, and say whether that is what it should."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of test_installed_model."""

    return {
        "method": "post",
        "url": "/installed-models/{id}/test".format(
            id=quote(str(id), safe=""),
        ),
    }
