"""Hybrid with its defaults: Faiss (IVF), its BM25, contents in SQLite. Searches take turns, because concurrent ones
crash the process (txtai 9.14, segmentation fault)."""

import os
import threading

# Faiss and PyTorch each bring an OpenMP runtime; without this the process ends when it finds the second one
os.environ.setdefault("KMP_DUPLICATE_LIB_OK", "TRUE")

from engine import LIMIT, Engine  # noqa: E402
from txtai import Embeddings  # noqa: E402


class Peer(Engine):
    MODES = ("hybrid", "vector")
    PACKAGE = "txtai"
    SETTINGS: dict = {}

    def _transform(self):
        return lambda texts: self.embedder.many(texts)

    def build(self, passages, vectors):
        embeddings = Embeddings(
            method="external", transform=self._transform(), hybrid=True, content=True, **self.SETTINGS
        )
        embeddings.index((passage.id, passage.whole, None) for passage in passages)
        embeddings.config["transform"] = None  # a function cannot be saved
        embeddings.save(str(self.folder / "index"))

    def open(self):
        self.turn = threading.Lock()
        self.embeddings = Embeddings()
        self.embeddings.load(str(self.folder / "index"))
        self.embeddings.model.transform = self._transform()

    def search(self, question, mode):
        with self.turn:
            weights = 1.0 if mode == "vector" else None  # None: half words, half vectors
            return [row["id"] for row in self.embeddings.search(question, LIMIT, weights=weights)]
