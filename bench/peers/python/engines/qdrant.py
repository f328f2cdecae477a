"""Qdrant's client in local mode. Hybrid: cosine and BM25 as sparse vectors with its IDF modifier, joined by its RRF.
The sparse vectors are computed here like those of its model Qdrant/bm25, which would be downloaded from a model hub."""

import re
import threading
import uuid
from collections import Counter

import mmh3
import Stemmer
from engine import DIMENSIONS, LIMIT, Engine
from qdrant_client import QdrantClient, models

NAME = "passages"
#: Parameters of the model Qdrant/bm25.
K1, B, AVERAGE_WORDS = 1.2, 0.75, 256.0
WORD = re.compile(r"\w+")


class Words:
    """BM25 as sparse vectors: the weight of a term without its IDF, by which Qdrant multiplies it."""

    def __init__(self):
        from bm25s.stopwords import STOPWORDS_EN

        self.stop = set(STOPWORDS_EN)
        self.own = threading.local()  # a stemmer must not be used by several threads

    def terms(self, text):
        if not hasattr(self.own, "stemmer"):
            self.own.stemmer = Stemmer.Stemmer("english")
        words = [word for word in WORD.findall(text.lower()) if word not in self.stop]
        return [mmh3.hash(term, signed=False) for term in self.own.stemmer.stemWords(words)]

    def of_passage(self, text):
        terms = self.terms(text)
        damping = K1 * (1 - B + B * len(terms) / AVERAGE_WORDS)
        weights = {term: count * (K1 + 1) / (count + damping) for term, count in Counter(terms).items()}
        return models.SparseVector(indices=list(weights), values=list(weights.values()))

    def of_question(self, text):
        terms = list(dict.fromkeys(self.terms(text)))
        return models.SparseVector(indices=terms, values=[1.0] * len(terms))


class Peer(Engine):
    MODES = ("hybrid", "vector")
    PACKAGE = "qdrant-client"
    client: QdrantClient | None = None

    def build(self, passages, vectors):
        self.open()
        self.client.create_collection(
            NAME,
            vectors_config={"dense": models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)},
            sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        for at in range(0, len(passages), 1000):
            part = zip(passages[at : at + 1000], vectors[at : at + 1000], strict=True)
            points = [
                models.PointStruct(
                    id=str(uuid.uuid5(uuid.NAMESPACE_OID, p.id)),
                    vector={"dense": v.tolist(), "words": self.words.of_passage(p.whole)},
                    payload={"id": p.id, "text": p.whole},
                )
                for p, v in part
            ]
            self.client.upsert(NAME, points)

    def open(self):
        self.words = Words()
        self.client = QdrantClient(path=str(self.folder / "qdrant"), force_disable_check_same_thread=True)

    def search(self, question, mode):
        vector = self.embedder.one(question)
        if mode == "vector":
            found = self.client.query_points(NAME, query=vector, using="dense", limit=LIMIT, with_payload=True)
        else:
            found = self.client.query_points(
                NAME,
                prefetch=[
                    models.Prefetch(query=vector.tolist(), using="dense", limit=3 * LIMIT),
                    models.Prefetch(query=self.words.of_question(question), using="words", limit=3 * LIMIT),
                ],
                query=models.FusionQuery(fusion=models.Fusion.RRF),
                limit=LIMIT,
                with_payload=True,
            )
        return [point.payload["id"] for point in found.points]

    def close(self):
        if self.client is not None:
            self.client.close()
