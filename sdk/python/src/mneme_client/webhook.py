"""Checks webhook messages (Standard Webhooks 1.0)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import WebhookVerificationError

_SECRET_PREFIX = "whsec_"  # noqa: S105 no secret
_TOLERANCE_SECONDS = 300.0


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Iterable[str],
    *,
    tolerance_seconds: float = _TOLERANCE_SECONDS,
    now: float | None = None,
) -> dict[str, Any]:
    """Check the signature (in constant time) and the age of a webhook message, and return it.

    `body` is the body as it was received: parsing and writing it again changes the bytes that were signed. `secret` is
    the `whsec_…` of the webhook; several while a secret is being changed. `now` is in Unix seconds.

    Raises WebhookVerificationError if the message must not be trusted.
    """
    message_id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    signatures = _header(headers, "webhook-signature")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise _refused("its webhook-timestamp is not a time")
    apart = abs((time.time() if now is None else now) - int(timestamp))
    if apart > tolerance_seconds:
        raise _refused(f"it is {round(apart)} s old, or the clocks differ")
    raw = body.encode() if isinstance(body, str) else body
    signed = f"{message_id}.{timestamp}.".encode() + raw
    secrets = [secret] if isinstance(secret, str) else list(secret)
    expected = [hmac.new(_secret_bytes(each), signed, hashlib.sha256).digest() for each in secrets]
    given = [
        _base64(value) for version, _, value in (each.partition(",") for each in signatures.split()) if version == "v1"
    ]
    # every pair is compared, so that the time says nothing about which one fits
    matches = [hmac.compare_digest(one, other) for one in expected for other in given if other is not None]
    if not any(matches):
        raise _refused("its signature is wrong")
    try:
        message = json.loads(raw)
    except ValueError as error:
        raise _refused("its body is not JSON") from error
    if not isinstance(message, dict):
        raise _refused("its body is not an object")
    return message


def _secret_bytes(secret: str) -> bytes:
    found = _base64(secret[len(_SECRET_PREFIX) :] if secret.startswith(_SECRET_PREFIX) else secret)
    if not found:
        raise WebhookVerificationError("The secret is not a whsec_… secret.")
    return found


def _base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _header(headers: Mapping[str, str], name: str) -> str:
    found = next((value for each, value in headers.items() if each.lower() == name), None)
    if not isinstance(found, str) or found == "":
        raise _refused(f"the header {name} is missing")
    return found


def _refused(reason: str) -> WebhookVerificationError:
    return WebhookVerificationError(f"The webhook message is not trusted: {reason}.")
