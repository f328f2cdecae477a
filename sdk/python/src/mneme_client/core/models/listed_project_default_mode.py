from __future__ import annotations

from typing import Literal

ListedProjectDefaultMode = Literal["balanced", "fast", "hybrid", "precise"]


def check_listed_project_default_mode(value: str) -> ListedProjectDefaultMode:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
