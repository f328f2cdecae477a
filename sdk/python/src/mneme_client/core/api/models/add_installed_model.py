"""Add a model: from files (`source`), which are copied and checked in the background, or on another server (`remote`). Projects can use it when it is `ready`."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of add_installed_model."""

    return {
        "method": "post",
        "url": "/installed-models",
    }
