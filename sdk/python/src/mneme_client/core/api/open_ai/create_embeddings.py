"""Compute the embeddings of texts. Nothing is stored."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of create_embeddings."""

    return {
        "method": "post",
        "url": "/embeddings",
    }
