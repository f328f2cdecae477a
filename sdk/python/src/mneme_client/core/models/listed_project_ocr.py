from __future__ import annotations

from typing import Literal

ListedProjectOcr = Literal["auto", "off"]


def check_listed_project_ocr(value: str) -> ListedProjectOcr:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
