from __future__ import annotations

from typing import Literal

LlmTestFallbacksItemProvider = Literal["anthropic", "gemini", "ollama", "openai"]


def check_llm_test_fallbacks_item_provider(value: str) -> LlmTestFallbacksItemProvider:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
