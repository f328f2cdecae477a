"""Made by sdk/generate.ts from the asynchronous half. Webhooks: addresses that receive an event when a memory changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._shared import body_of
from ..core.api.webhooks import (
    create_webhook,
    delete_webhook,
    get_webhook,
    list_deliveries,
    list_webhooks,
    redeliver,
    rotate_webhook_secret,
    test_webhook,
    update_webhook,
)
from ..core.models.delivery import Delivery
from ..core.models.delivery_list import DeliveryList
from ..core.models.webhook import Webhook
from ..core.models.webhook_list import WebhookList
from ..core.models.webhook_with_secret import WebhookWithSecret
from ..core.types import UNSET, Unset
from .lists import List
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions, WriteOptions


class Webhooks:
    """The operations on webhooks. `verify_webhook` checks what they receive."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        url: str,
        events: Sequence[str],
        *,
        description: str | None | Unset = UNSET,
        enabled: bool | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> WebhookWithSecret:
        """Create a webhook. Only this answer contains its secret."""
        body = body_of(url=url, events=[*events], description=description, enabled=enabled)
        return self._transport.call(
            create_webhook.request(), WebhookWithSecret.from_dict, options, body=body, repeatable="keyed"
        )

    def list(self, *, limit: int | Unset = UNSET, **options: Unpack[CallOptions]) -> List[Webhook]:
        """List webhooks, newest first."""

        def fetch(cursor: str | Unset) -> WebhookList:
            request = list_webhooks.request(limit=limit, cursor=cursor)
            return self._transport.call(request, WebhookList.from_dict, options)

        return List(fetch)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Webhook:  # noqa: A002 name of the API
        """Read a webhook."""
        return self._transport.call(get_webhook.request(id), Webhook.from_dict, options)

    def update(
        self,
        id: str,  # noqa: A002 name of the API
        *,
        url: str | Unset = UNSET,
        events: Sequence[str] | Unset = UNSET,
        description: str | None | Unset = UNSET,
        enabled: bool | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> Webhook:
        """Change a webhook; a field that is not given stays."""
        chosen = events if isinstance(events, Unset) else [*events]
        body = body_of(url=url, events=chosen, description=description, enabled=enabled)
        return self._transport.call(update_webhook.request(id), Webhook.from_dict, options, body=body)

    def delete(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002 name of the API
        """Delete a webhook."""
        self._transport.remove(delete_webhook.request(id), options)

    def test(self, id: str, **options: Unpack[WriteOptions]) -> Delivery:  # noqa: A002 name of the API
        """Send the event `webhook.test`."""
        return self._transport.call(test_webhook.request(id), Delivery.from_dict, options, repeatable="keyed")

    def rotate_secret(self, id: str, **options: Unpack[CallOptions]) -> WebhookWithSecret:  # noqa: A002
        """Give a webhook a new secret. Only this answer contains it."""
        return self._transport.call(
            rotate_webhook_secret.request(id), WebhookWithSecret.from_dict, options, repeatable="refused"
        )

    def deliveries(self, id: str, *, limit: int | Unset = UNSET, **options: Unpack[CallOptions]) -> List[Delivery]:  # noqa: A002
        """List the deliveries of a webhook, newest first."""

        def fetch(cursor: str | Unset) -> DeliveryList:
            request = list_deliveries.request(id, limit=limit, cursor=cursor)
            return self._transport.call(request, DeliveryList.from_dict, options)

        return List(fetch)

    def redeliver(self, id: str, delivery_id: str, **options: Unpack[WriteOptions]) -> Delivery:  # noqa: A002
        """Send a delivery once more, with the same `webhook-id`."""
        return self._transport.call(redeliver.request(id, delivery_id), Delivery.from_dict, options, repeatable="keyed")
