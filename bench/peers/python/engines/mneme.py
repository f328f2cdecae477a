"""Its server with the model that the peers use, asked over HTTP. It reads title and text and embeds them itself. It
returns passages, of which a long document has several, so 20 are requested to get 10 documents. Rate limits are off.
Searches beyond capacity wait (MNEME_SEARCH_BUDGET=off), because the other engines let them wait, too."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from engine import CHECKOUT, LIMIT, MODEL_ID, Engine

PASSAGES = 2 * LIMIT
READY_SECONDS_MAX = 120


class Connection:
    """A connection that stays open, for answers with a Content-Length. Parsing the same answers with http.client takes
    a third of the time of a whole search in mode fast."""

    def __init__(self, port, key):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.headers = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"

    def ask(self, method, path, body):
        """Status and body of the answer."""
        head = f"{method} {path} HTTP/1.1\r\n{self.headers}Content-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, answer = received.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)[1])
        while len(answer) < length:
            answer += self._receive()
        return int(head.split(b" ", 2)[1]), answer

    def _receive(self):
        part = self.socket.recv(1 << 18)
        if not part:
            raise RuntimeError("Mneme closed the connection")
        return part


class Peer(Engine):
    MODES = ("fast", "hybrid", "balanced", "precise")
    USES_VECTORS = False
    MODEL = MODEL_ID

    server: subprocess.Popen | None = None

    def version(self):
        """Version and commit. A `+` marks a checkout with changes."""
        version = json.loads((CHECKOUT / "package.json").read_text())["version"]
        git = ["git", "-C", str(CHECKOUT)]
        command = [*git, "describe", "--always", "--dirty=+", "--abbrev=10"]
        commit = subprocess.run(command, capture_output=True, text=True)
        return f"{version} {commit.stdout.strip()}".strip()

    def _command(self, *arguments):
        return [os.environ["PEERS_BUN"], str(CHECKOUT / "src/main.ts"), *arguments]

    def _start(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        key_file = self.folder / "key"
        if not key_file.exists():
            key_file.write_text("ctx_" + secrets.token_urlsafe(32))
        self.key = key_file.read_text()
        own = {name: value for name, value in os.environ.items() if not name.startswith("MNEME_")}
        cache = {name: os.environ[name] for name in ("MNEME_CACHE_DIR", "MNEME_NATIVE_PATH") if name in os.environ}
        self.environment = own | cache | {
            "MNEME_ADMIN_KEY": self.key,
            "MNEME_DATA_DIR": str(self.folder / "store"),
            "MNEME_EMBEDDER": self.MODEL,
            # the other engines compute every question, too
            "MNEME_QUERY_CACHE": "off",
            "MNEME_PORT": str(self.port),
            "MNEME_RATE_LIMITS": "off",
            "MNEME_SEARCH_BUDGET": "off",
        }
        with open(self.folder / "log", "ab") as log:
            # the folder has no mneme.toml, so that no settings of another server apply
            self.server = subprocess.Popen(
                self._command("serve"), cwd=self.folder, env=self.environment, stdout=log, stderr=log
            )
        end = time.monotonic() + READY_SECONDS_MAX
        while not self._is_ready():
            if self.server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Mneme did not start: {(self.folder / 'log').read_text()[-500:]}")
            time.sleep(0.02)

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def build(self, passages, vectors):
        self._start()
        file = self.folder / "passages.jsonl"
        with open(file, "w", encoding="utf-8") as out:
            for passage in passages:
                out.write(json.dumps({"_id": passage.id, "title": passage.title, "text": passage.text}) + "\n")
        command = self._command("import", str(file), "--wait", "--url", f"http://127.0.0.1:{self.port}")
        environment = self.environment | {"MNEME_API_KEY": self.key}
        subprocess.run(command, cwd=self.folder, env=environment, check=True, stdout=sys.stderr)
        file.unlink()

    def open(self):
        self._start()
        self._connect()
        self.names = {}
        after = ""
        while after is not None:
            page = self._ask("GET", f"/v1/memories?status=completed&limit=100{after}")
            self.names |= {memory["id"]: memory["externalId"] for memory in page["data"]}
            after = f"&cursor={page['cursor']}" if page.get("cursor") else None

    def _connect(self):
        self.connection = Connection(self.port, self.key)

    def _ask(self, method, path, body=None):
        status, text = self.connection.ask(method, path, b"" if body is None else json.dumps(body).encode())
        if status != 200:
            raise RuntimeError(f"Mneme answered {status}: {text[:300]!r}")
        return json.loads(text)

    def for_client(self):
        other = object.__new__(type(self))
        other.key, other.names, other.port = self.key, self.names, self.port
        other._connect()
        return other

    def search(self, question, mode):
        body = {"query": question, "mode": mode, "limit": PASSAGES}
        found = self._ask("POST", "/v1/memories/search", body)
        # a document has the rank of its best passage
        return list(dict.fromkeys(self.names[row["memory_id"]] for row in found["results"]))[:LIMIT]

    def servers(self):
        return [self.server.pid]

    def close(self):
        if self.server is None:
            return
        self.server.send_signal(signal.SIGTERM)
        self.server.wait()
        self.server = None
