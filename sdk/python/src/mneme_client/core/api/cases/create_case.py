"""Store a question with the memories that a search should find, or that nothing should be found."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_case."""

    return {
        "method": "post",
        "url": "/cases",
    }
