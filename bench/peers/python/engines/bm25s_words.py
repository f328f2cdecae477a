"""Words only, nothing is embedded. English stop words and stemmer, as in its README."""

import bm25s
import Stemmer
from engine import LIMIT, Engine


class Peer(Engine):
    MODES = ("words",)
    PACKAGE = "bm25s"
    USES_VECTORS = False

    def _tokens(self, texts):
        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)

    def build(self, passages, vectors):
        self.stemmer = Stemmer.Stemmer("english")
        index = bm25s.BM25()
        index.index(self._tokens([passage.whole for passage in passages]), show_progress=False)
        corpus = [{"id": passage.id, "text": passage.whole} for passage in passages]
        index.save(str(self.folder / "index"), corpus=corpus)

    def open(self):
        self.stemmer = Stemmer.Stemmer("english")
        self.index = bm25s.BM25.load(str(self.folder / "index"), load_corpus=True)

    def for_client(self):
        other = object.__new__(Peer)
        other.stemmer = Stemmer.Stemmer("english")  # a stemmer must not be used by several threads
        other.index = self.index
        return other

    def search(self, question, mode):
        found, _ = self.index.retrieve(self._tokens([question]), k=LIMIT, show_progress=False)
        return [row["id"] for row in found[0]]
