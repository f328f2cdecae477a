"""Full-text index, vectors without an index, as its guide recommends below 100,000 rows; joined by its RRF reranker."""

import os

os.environ.setdefault("LANCEDB_LOG", "error")  # otherwise LanceDB prints a warning at every search

import lancedb  # noqa: E402
import pyarrow as pa  # noqa: E402
from engine import DIMENSIONS, LIMIT, Engine  # noqa: E402
from lancedb.index import FTS  # noqa: E402
from lancedb.rerankers import RRFReranker  # noqa: E402

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), DIMENSIONS)),
    ]
)


class Peer(Engine):
    MODES = ("hybrid", "vector")
    PACKAGE = "lancedb"

    def build(self, passages, vectors):
        table = lancedb.connect(str(self.folder)).create_table("passages", schema=SCHEMA)
        columns = [
            pa.array([passage.id for passage in passages]),
            pa.array([passage.whole for passage in passages]),
            pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIMENSIONS),
        ]
        table.add(pa.Table.from_arrays(columns, schema=SCHEMA))
        table.create_index("text", config=FTS())
        table.wait_for_index(["text_idx"])

    def open(self):
        self.table = lancedb.connect(str(self.folder)).open_table("passages")
        self.reranker = RRFReranker()

    def search(self, question, mode):
        vector = self.embedder.one(question)
        if mode == "hybrid":
            query = self.table.search(query_type="hybrid").vector(vector).text(question).rerank(self.reranker)
        else:
            query = self.table.search(vector, query_type="vector")
        found = query.distance_type("cosine").select(["id", "text"]).limit(LIMIT).to_arrow()
        return found["id"].to_pylist()
