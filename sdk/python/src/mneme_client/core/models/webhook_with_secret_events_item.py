from __future__ import annotations

from typing import Literal

WebhookWithSecretEventsItem = Literal[
    "memory.completed", "memory.deleted", "memory.failed", "memory.superseded", "memory.updated", "webhook.test"
]


def check_webhook_with_secret_events_item(value: str) -> WebhookWithSecretEventsItem:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
