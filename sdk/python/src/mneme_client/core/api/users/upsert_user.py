"""Create or change a user. Absent fields stay unchanged, null clears a field."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of upsert_user."""

    return {
        "method": "post",
        "url": "/users",
    }
