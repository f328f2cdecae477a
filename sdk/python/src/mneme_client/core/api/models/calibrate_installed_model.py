"""Fit weights and curves of a model to judged samples, in the background, so that its scores are probabilities. A calibration that runs is replaced."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of calibrate_installed_model."""

    return {
        "method": "post",
        "url": "/installed-models/{id}/calibrate".format(
            id=quote(str(id), safe=""),
        ),
    }
