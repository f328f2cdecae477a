from __future__ import annotations

from typing import Literal

ProjectWithKeyOcr = Literal["auto", "off"]


def check_project_with_key_ocr(value: str) -> ProjectWithKeyOcr:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
