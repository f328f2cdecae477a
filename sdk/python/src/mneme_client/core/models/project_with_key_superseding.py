from __future__ import annotations

from typing import Literal

ProjectWithKeySuperseding = Literal["off", "on", "suggest"]


def check_project_with_key_superseding(value: str) -> ProjectWithKeySuperseding:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
