"""Delete all memories that match. `dryRun` counts them; otherwise 202 with a job, which deletes from the newest to the oldest."""

from __future__ import annotations

from typing import Any


def request() -> dict[str, Any]:
    """Method, path and query of delete_memories."""

    return {
        "method": "delete",
        "url": "/memories",
    }
