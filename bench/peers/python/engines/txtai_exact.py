"""Hybrid, with Faiss comparing every vector, because its default index misses some of the nearest; its BM25, contents
in SQLite. Searches take turns, because concurrent ones crash the process (txtai 9.14, segmentation fault)."""

from engines.txtai_default import Peer as Default


class Peer(Default):
    SETTINGS = {"faiss": {"components": "IDMap,Flat"}}
