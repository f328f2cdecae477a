from __future__ import annotations

from typing import Literal

ProjectWithKeyLlmProvider = Literal["anthropic", "gemini", "ollama", "openai"]


def check_project_with_key_llm_provider(value: str) -> ProjectWithKeyLlmProvider:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
