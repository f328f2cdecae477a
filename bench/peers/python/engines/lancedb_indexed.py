"""Full-text index, and vectors with its index IVF_HNSW_SQ, its defaults; joined by its RRF reranker."""

import lancedb
from lancedb.index import HnswSq

from engines.lancedb_scan import Peer as Scan


class Peer(Scan):
    def build(self, passages, vectors):
        super().build(passages, vectors)
        table = lancedb.connect(str(self.folder)).open_table("passages")
        table.create_index("vector", config=HnswSq(distance_type="cosine"))
        table.wait_for_index(["vector_idx"])
