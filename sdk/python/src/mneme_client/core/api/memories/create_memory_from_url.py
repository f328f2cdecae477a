"""Fetch a page or file and store its text. Nothing is stored if it cannot be fetched (422)."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_memory_from_url."""

    return {
        "method": "post",
        "url": "/memories/url",
    }
