"""PersistentClient with HNSW over cosine, its defaults. Vectors only: its hybrid search needs its cloud service."""

import chromadb
from chromadb.config import Settings
from engine import LIMIT, Engine


class Peer(Engine):
    PACKAGE = "chromadb"

    def _client(self):
        return chromadb.PersistentClient(str(self.folder), settings=Settings(anonymized_telemetry=False))

    def build(self, passages, vectors):
        client = self._client()
        collection = client.create_collection(
            "passages", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        size = min(client.get_max_batch_size(), 1000)
        for at in range(0, len(passages), size):
            part = passages[at : at + size]
            collection.add(
                ids=[passage.id for passage in part],
                embeddings=vectors[at : at + size],
                documents=[passage.whole for passage in part],
            )

    def open(self):
        self.collection = self._client().get_collection("passages", embedding_function=None)

    def search(self, question, mode):
        vector = self.embedder.one(question)
        found = self.collection.query(
            query_embeddings=[vector], n_results=LIMIT, include=["documents", "distances"]
        )
        return found["ids"][0]
