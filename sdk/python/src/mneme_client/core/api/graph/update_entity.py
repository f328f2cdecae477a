"""Name an entity, or say that it is the same as another one (`merged_into`). null takes it back. It stays when the index is rebuilt."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def request(
    id: str,
) -> dict[str, Any]:
    """Method, path and query of update_entity."""

    return {
        "method": "put",
        "url": "/graph/entities/{id}".format(
            id=quote(str(id), safe=""),
        ),
    }
