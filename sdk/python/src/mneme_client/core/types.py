"""The value of a field that an answer does not have."""

from __future__ import annotations

from typing import Literal


class Unset:
    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Unset = Unset()

__all__ = ["UNSET", "Unset"]
