from __future__ import annotations

from typing import Literal

ListedProjectSuperseding = Literal["off", "on", "suggest"]


def check_listed_project_superseding(value: str) -> ListedProjectSuperseding:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
