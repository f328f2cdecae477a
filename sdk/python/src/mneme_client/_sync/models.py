"""Made by sdk/generate.ts from the asynchronous half. Models, chat completions and embeddings, in the form of OpenAI's API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._shared import Json, body_of
from ..core.api.open_ai import create_chat_completion, create_embeddings, get_model, list_models
from ..core.models.chat_completion import ChatCompletion
from ..core.models.embeddings import Embeddings as EmbeddingList
from ..core.models.model import Model
from ..core.models.model_list import ModelList
from ..core.types import UNSET, Unset
from .streams import CompletionStream
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions, WriteOptions

ModelItems = list[Model]


class Models:
    """The models for chat completions and embeddings."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, **options: Unpack[CallOptions]) -> ModelItems:
        """List the models: those for chat completions, then the embedding models."""
        return (self._transport.call(list_models.request(), ModelList.from_dict, options)).data

    def get(self, id: str, **options: Unpack[CallOptions]) -> Model:  # noqa: A002 name of the API
        """Read a model."""
        return self._transport.call(get_model.request(id), Model.from_dict, options)


class Completions:
    """Chat completions: answers from memories, with citations."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        messages: Sequence[Json],
        *,
        model: str = "mneme",
        user: str | None | Unset = UNSET,
        mneme: Json | None | Unset = UNSET,
        temperature: float | None | Unset = UNSET,
        max_tokens: int | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> ChatCompletion:
        """Answer the last message. `user` is the user whose memories are searched; `mneme` has further options."""
        return self._transport.call(
            create_chat_completion.request(),
            ChatCompletion.from_dict,
            options,
            body=_body(messages, model, user, mneme, temperature, max_tokens, stream=False),
            repeatable="keyed",
        )

    def stream(
        self,
        messages: Sequence[Json],
        *,
        model: str = "mneme",
        user: str | None | Unset = UNSET,
        mneme: Json | None | Unset = UNSET,
        temperature: float | None | Unset = UNSET,
        max_tokens: int | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> CompletionStream:
        """Answer the last message, as a stream of chunks."""
        response = self._transport.stream(
            create_chat_completion.request(),
            options,
            body=_body(messages, model, user, mneme, temperature, max_tokens, stream=True),
            repeatable="keyed",
        )
        return CompletionStream(response)


class Embeddings:
    """Embeddings of texts."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        model: str,
        input: str | Sequence[str],  # noqa: A002 name of the API
        *,
        input_type: str | Unset = UNSET,
        encoding_format: str | Unset = UNSET,
        dimensions: int | Unset = UNSET,
        truncate: bool | Unset = UNSET,
        user: str | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> EmbeddingList:
        """Compute embeddings. Nothing is stored."""
        body = body_of(
            model=model,
            input=input if isinstance(input, str) else [*input],
            input_type=input_type,
            encoding_format=encoding_format,
            dimensions=dimensions,
            truncate=truncate,
            user=user,
        )
        return self._transport.call(create_embeddings.request(), EmbeddingList.from_dict, options, body=body)


def _body(
    messages: Sequence[Json],
    model: str,
    user: str | None | Unset,
    mneme: Json | None | Unset,
    temperature: float | None | Unset,
    max_tokens: int | None | Unset,
    *,
    stream: bool,
) -> dict[str, Any]:
    return body_of(
        messages=[*messages],
        model=model,
        user=user,
        mneme=mneme,
        temperature=temperature,
        max_tokens=max_tokens,
        stream=stream,
    )
