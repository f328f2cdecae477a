from __future__ import annotations

from typing import Literal

ListedProjectLlmFallbacksItemProvider = Literal["anthropic", "gemini", "ollama", "openai"]


def check_listed_project_llm_fallbacks_item_provider(value: str) -> ListedProjectLlmFallbacksItemProvider:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
