from __future__ import annotations

from typing import Literal

DeliveryEvent = Literal[
    "memory.completed", "memory.deleted", "memory.failed", "memory.superseded", "memory.updated", "webhook.test"
]


def check_delivery_event(value: str) -> DeliveryEvent:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
