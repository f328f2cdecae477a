from __future__ import annotations

from typing import Literal

ProjectWithKeyLlmFallbacksItemProvider = Literal["anthropic", "gemini", "ollama", "openai"]


def check_project_with_key_llm_fallbacks_item_provider(value: str) -> ProjectWithKeyLlmFallbacksItemProvider:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
