"""Cancel the calibration of a model, or forget why it failed. Curves that were fitted before stay."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of cancel_model_calibration."""

    return {
        "method": "delete",
        "url": "/installed-models/{id}/calibrate".format(
            id=quote(str(id), safe=""),
        ),
    }
