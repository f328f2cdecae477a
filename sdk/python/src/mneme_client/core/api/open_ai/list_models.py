"""List the models: those for chat completions, then the installed embedding models."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of list_models."""

    return {
        "method": "get",
        "url": "/models",
    }
