"""List the installed embedding models, the default of new projects first."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of list_embedders."""

    return {
        "method": "get",
        "url": "/embedders",
    }
