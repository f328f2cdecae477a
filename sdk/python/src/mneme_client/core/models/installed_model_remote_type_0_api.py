from __future__ import annotations

from typing import Literal

InstalledModelRemoteType0Api = Literal["cohere", "jina", "ollama", "openai", "tei"]


def check_installed_model_remote_type_0_api(value: str) -> InstalledModelRemoteType0Api:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
