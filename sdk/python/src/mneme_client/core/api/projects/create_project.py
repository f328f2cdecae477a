"""Create a project with its first key, whose secret is shown only once."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_project."""

    return {
        "method": "post",
        "url": "/projects",
    }
