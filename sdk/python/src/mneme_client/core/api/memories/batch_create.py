"""Store up to 100 texts. Each is accepted or refused on its own."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of batch_create."""

    return {
        "method": "post",
        "url": "/memories/batch",
    }
