"""Without a language model (infer=False), over Qdrant in local mode, its default store. Vectors only: its search by
words needs models that are downloaded when it runs."""

import logging
import os

os.environ["MEM0_TELEMETRY"] = "False"
os.environ.setdefault("OPENAI_API_KEY", "unused; mem0 does not start without one")

from engine import DIMENSIONS, LIMIT, Engine  # noqa: E402
from langchain_core.embeddings import Embeddings  # noqa: E402

USER = "peer"


class SharedEmbeddings(Embeddings):
    """The shared embedder as mem0 takes it."""

    def __init__(self, embedder):
        self.embedder = embedder

    def embed_query(self, text):
        return self.embedder.one(text).tolist()

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


class Peer(Engine):
    PACKAGE = "mem0ai"
    memory = None

    def open(self):
        os.environ["MEM0_DIR"] = str(self.folder / "home")
        logging.getLogger("mem0").setLevel(logging.ERROR)
        from mem0 import Memory  # mem0 reads MEM0_DIR when it is imported

        self.memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(self.folder / "qdrant"),
                        "on_disk": True,
                        "embedding_model_dims": DIMENSIONS,
                        "collection_name": "passages",
                    },
                },
                "embedder": {"provider": "langchain", "config": {"model": SharedEmbeddings(self.embedder)}},
                "history_db_path": str(self.folder / "history.db"),
            }
        )

    def build(self, passages, vectors):
        self.open()
        for passage in passages:
            self.memory.add(passage.whole, user_id=USER, infer=False, metadata={"passage": passage.id})

    def search(self, question, mode):
        found = self.memory.search(question, top_k=LIMIT, filters={"user_id": USER}, threshold=0.0)
        return [row["metadata"]["passage"] for row in found["results"]]

    def close(self):
        if self.memory is not None:
            self.memory.close()
