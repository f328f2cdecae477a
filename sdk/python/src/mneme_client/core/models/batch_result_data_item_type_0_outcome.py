from __future__ import annotations

from typing import Literal

BatchResultDataItemType0Outcome = Literal["created", "rewritten", "unchanged", "updated"]


def check_batch_result_data_item_type_0_outcome(value: str) -> BatchResultDataItemType0Outcome:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
