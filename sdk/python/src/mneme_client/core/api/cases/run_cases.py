"""Search for all cases, and measure how well what was found fits. Costs no query."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of run_cases."""

    return {
        "method": "post",
        "url": "/cases/runs",
    }
