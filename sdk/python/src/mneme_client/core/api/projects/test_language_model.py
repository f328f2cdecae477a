"""Call the language model of the project, and each of its fallbacks, with a short question; with a body, those of settings that are not stored yet."""

from __future__ import annotations

from typing import Any

from ...types import UNSET, Unset


def request(
    *,
    project_id: str | Unset = UNSET,
) -> dict[str, Any]:
    """Method, path and query of test_language_model."""
    params: dict[str, Any] = {}

    params["projectId"] = project_id

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    return {
        "method": "post",
        "url": "/project/llm/test",
        "params": params,
    }
