"""The interface that every engine implements, the passages, and the embedder that all peers share."""

from __future__ import annotations

import importlib.metadata
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import tokenizers

#: Root of the checkout.
CHECKOUT = Path(__file__).resolve().parents[3]
#: The model of all peers, and of Mneme unless a row names another.
MODEL_ID = "all-minilm-l6-v2"
#: Number of results per search.
LIMIT = 10

_MODEL_FOLDER = CHECKOUT / "data/models" / MODEL_ID
_MODEL = json.loads((_MODEL_FOLDER / "model.json").read_text())
DIMENSIONS: int = _MODEL["dimensions"]
MAX_TOKENS: int = _MODEL["max_tokens"]


@dataclass(frozen=True)
class Passage:
    """A document of the collection."""

    id: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text. Peers embed and index this; Mneme gets the two apart."""
        if not self.title or not self.text:
            return self.title or self.text
        end = " " if self.title[-1] in ".!?" else ". "
        return self.title + end + self.text


def read_passages(file: Path) -> list[Passage]:
    """Reads JSON lines with `_id`, `title` and `text`."""
    with open(file, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Passage(row["_id"], row["title"], row["text"]) for row in rows]


class Embedder:
    """The shared model on onnxruntime, one thread per call. Mean pooling and normalisation are part of its graph."""

    def __init__(self) -> None:
        self._known: dict[str, np.ndarray] = {}
        self._session: onnxruntime.InferenceSession | None = None

    def load(self) -> None:
        """Loads the model before its first use, so that an engine that needs none has none in memory."""
        if self._session is not None:
            return
        self._tokenizer = tokenizers.Tokenizer.from_file(str(_MODEL_FOLDER / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        # For a short question, two threads of onnxruntime take longer than one (3.5 instead of 1.7 ms on two cores).
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(_MODEL_FOLDER / _MODEL["file"]), options, providers=["CPUExecutionProvider"]
        )

    def remember(self, passages: list[Passage], vectors: np.ndarray) -> None:
        """Returns these vectors for these texts from now on, for engines that call the embedder while they index."""
        self._known = {passage.whole: vector for passage, vector in zip(passages, vectors, strict=True)}

    def token_ids(self, text: str) -> list[int]:
        """Token ids of a text, with special tokens, at most `MAX_TOKENS`."""
        self.load()
        return self._tokenizer.encode(text).ids

    def embed_ids(self, batch: list[list[int]]) -> np.ndarray:
        """Vectors of tokenised texts, a row each."""
        self.load()
        width = max(map(len, batch))
        ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros((len(batch), width), dtype=np.int64)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        return self._session.run(["sentence_embedding"], {"input_ids": ids, "attention_mask": mask})[0]

    def one(self, text: str) -> np.ndarray:
        """Vector of one text."""
        known = self._known.get(text)
        return self.embed_ids([self.token_ids(text)])[0] if known is None else known

    def many(self, texts: list[str]) -> np.ndarray:
        """Vectors of texts, a row each."""
        return np.stack([self.one(text) for text in texts])


class Engine(ABC):
    """A search engine. A new process calls `build`, or `open` and then `search` from several threads."""

    #: Ways to search.
    MODES: tuple[str, ...] = ("vector",)
    #: Name of the Python package.
    PACKAGE = ""
    #: Whether it indexes the vectors of the shared embedder.
    USES_VECTORS = True

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.folder = folder
        self.embedder = embedder

    def version(self) -> str:
        """Version of the engine."""
        return importlib.metadata.version(self.PACKAGE)

    @abstractmethod
    def build(self, passages: list[Passage], vectors: np.ndarray) -> None:
        """Indexes all passages durably in `folder`. The vectors are given, so that embedding is not part of it."""

    @abstractmethod
    def open(self) -> None:
        """Opens what `build` left in `folder`."""

    @abstractmethod
    def search(self, question: str, mode: str) -> list[str]:
        """Ids of the `LIMIT` best passages, best first. Embeds the question."""

    def for_client(self) -> Engine:
        """What one of several concurrent clients uses: the engine itself, or one with a connection of its own."""
        return self

    def servers(self) -> list[int]:
        """Process ids of the server that has the engine; empty if the engine runs in this process."""
        return []

    def close(self) -> None:
        """Ends everything that was started. May be called more than once, and after a failure."""
