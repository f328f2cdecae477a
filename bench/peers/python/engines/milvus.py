"""Milvus Lite through pymilvus: HNSW (M 16, ef 100) and its BM25 function, joined by its RRF ranker."""

from engine import DIMENSIONS, LIMIT, Engine
from pymilvus import AnnSearchRequest, DataType, Function, FunctionType, MilvusClient, RRFRanker

NAME = "passages"
DENSE = {"metric_type": "COSINE", "params": {"ef": 100}}
SPARSE = {"metric_type": "BM25", "params": {}}


class Peer(Engine):
    MODES = ("hybrid", "vector")
    PACKAGE = "milvus-lite"
    client: MilvusClient | None = None

    def _connect(self):
        self.client = MilvusClient(str(self.folder / "milvus.db"))

    def build(self, passages, vectors):
        self._connect()
        schema = MilvusClient.create_schema(auto_id=False)
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=64)
        schema.add_field("text", DataType.VARCHAR, max_length=65535, enable_analyzer=True)
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=DIMENSIONS)
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            Function(
                name="bm25",
                function_type=FunctionType.BM25,
                input_field_names=["text"],
                output_field_names=["sparse"],
            )
        )
        self.client.create_collection(NAME, schema=schema)
        for at in range(0, len(passages), 1000):
            part = zip(passages[at : at + 1000], vectors[at : at + 1000], strict=True)
            self.client.insert(NAME, [{"id": p.id, "text": p.whole, "dense": v.tolist()} for p, v in part])
        self.client.flush(NAME)
        indexes = self.client.prepare_index_params()
        indexes.add_index(
            "dense", index_type="HNSW", metric_type="COSINE", params={"M": 16, "efConstruction": 200}
        )
        indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params={})
        self.client.create_index(NAME, indexes)
        self.client.load_collection(NAME)

    def open(self):
        self._connect()
        self.client.load_collection(NAME)

    def search(self, question, mode):
        vector = self.embedder.one(question).tolist()
        if mode == "vector":
            found = self.client.search(
                NAME, [vector], anns_field="dense", search_params=DENSE, limit=LIMIT, output_fields=["text"]
            )
        else:
            requests = [
                AnnSearchRequest([vector], "dense", DENSE, limit=3 * LIMIT),
                AnnSearchRequest([question], "sparse", SPARSE, limit=3 * LIMIT),
            ]
            found = self.client.hybrid_search(
                NAME, requests, ranker=RRFRanker(60), limit=LIMIT, output_fields=["text"]
            )
        return [hit["id"] for hit in found[0]]

    def close(self):
        if self.client is not None:
            self.client.close()
