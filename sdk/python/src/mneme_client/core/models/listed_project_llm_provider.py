from __future__ import annotations

from typing import Literal

ListedProjectLlmProvider = Literal["anthropic", "gemini", "ollama", "openai"]


def check_listed_project_llm_provider(value: str) -> ListedProjectLlmProvider:
    """The value as it is: a newer server can have more values than this client knows."""
    return value  # type: ignore[return-value]
