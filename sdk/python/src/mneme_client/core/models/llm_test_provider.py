from __future__ import annotations

from typing import Literal

LlmTestProvider = Literal["anthropic", "gemini", "ollama", "openai"]


def check_llm_test_provider(value: str) -> LlmTestProvider:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
