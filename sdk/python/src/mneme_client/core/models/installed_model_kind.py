from __future__ import annotations

from typing import Literal

InstalledModelKind = Literal["built_in", "installed", "remote"]


def check_installed_model_kind(value: str) -> InstalledModelKind:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
