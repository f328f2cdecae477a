"""Create a key. Its secret is shown only once; the server stores a hash."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_key."""

    return {
        "method": "post",
        "url": "/keys",
    }
