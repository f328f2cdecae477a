from __future__ import annotations

from typing import Literal

ProjectOcr = Literal["auto", "off"]


def check_project_ocr(value: str) -> ProjectOcr:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
