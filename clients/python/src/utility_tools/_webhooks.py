"""Verification of webhook deliveries."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Mapping, Optional, Sequence, Union, cast

from ._errors import WebhookVerificationError
from .types import WebhookEvent

# Seconds by which the time of a delivery may differ from that of the receiver.
_TOLERANCE_S = 300
_PREFIX = "whsec_"
_SIGNATURES = "webhook-signature"
# Some servers give the values of each header as a list.
_Headers = Mapping[str, Union[str, Sequence[str]]]
# Unix time in seconds, in as many digits as it can have. `int` refuses numbers with thousands of digits.
_TIME = re.compile(r"[0-9]{1,12}")


def _header(headers: _Headers, name: str) -> str:
    for key, found in headers.items():
        if key.lower() == name and found:
            values = [found] if isinstance(found, str) else dict.fromkeys(found)
            # Only signatures form a list. Other headers with different values are ambiguous, and then not signed.
            return (" " if name == _SIGNATURES else ", ").join(values)
    raise WebhookVerificationError(
        f"The header {name} is missing. The request is not a delivery, or a proxy removed the header."
    )


def _key(secret: str) -> bytes:
    if secret.startswith(_PREFIX):
        try:
            key = base64.b64decode(secret[len(_PREFIX) :], validate=True)
        except binascii.Error:
            key = b""
        if key:
            return key
    raise ValueError(
        "The signing secret is not valid. It begins with `whsec_` and is shown when you register an endpoint."
    )


def _check_time(timestamp: str, now: float) -> None:
    if not _TIME.fullmatch(timestamp) or abs(now - int(timestamp)) >= _TOLERANCE_S:
        shown = timestamp[:12].encode("ascii", "backslashreplace").decode()
        raise WebhookVerificationError(
            f"The delivery was signed at {shown}, {_TOLERANCE_S} seconds or more from the time of this machine. It may be "
            "a replayed request. If it is not, correct the clock of this machine."
        )


def _encode(text: str) -> bytes:
    """Encodes a text. Frameworks decode bytes that are not UTF-8 to surrogates; such a text is not signed, so any bytes do."""
    return text.encode("utf-8", "replace")


def verify_webhook(
    secret: Union[str, Sequence[str]],
    headers: _Headers,
    body: Union[bytes, str],
    *,
    now: Optional[float] = None,
) -> WebhookEvent:
    """Verifies the signature and the time of a delivery (Standard Webhooks 1.0, scheme `v1`) and returns its event.

    `secret` is the signing secret of the endpoint (`whsec_…`), or several during a rotation. `body` is the raw request body,
    exactly as received. Deliveries can repeat: ignore an event whose `id` you have processed.

    Raises WebhookVerificationError if the delivery is not genuine (respond with 400), ValueError if the secret is not valid.
    """
    raw = _encode(body) if isinstance(body, str) else body
    id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    # Repeated headers are joined with a comma by some servers.
    signatures = re.split(",? ", _header(headers, _SIGNATURES))
    _check_time(timestamp, time.time() if now is None else now)
    signed = _encode(f"{id}.{timestamp}.") + raw
    genuine = False
    for one in [secret] if isinstance(secret, str) else secret:
        digest = base64.b64encode(hmac.new(_key(one), signed, hashlib.sha256).digest())
        for signature in signatures:
            genuine = hmac.compare_digest(b"v1," + digest, _encode(signature)) or genuine
    if not genuine:
        raise WebhookVerificationError(
            "The signature does not match. Check that the secret belongs to this endpoint and that the body is exactly as "
            "received."
        )
    try:
        event = json.loads(raw)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not {"id", "event", "data"} <= event.keys():
        raise WebhookVerificationError("The body of the delivery is not an event.")
    return cast(WebhookEvent, event)
