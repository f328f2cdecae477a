"""In a Node process (bench/peers/orama/serve.mjs), asked over a pipe. Hybrid with its default weights. Its default
similarity, 0.8, is set to 0, because nearly every cosine of this model is below it."""

import itertools
import json
import os
import subprocess
import threading
from pathlib import Path

from engine import CHECKOUT, Engine

SCRIPT = CHECKOUT / "bench/peers/orama/serve.mjs"


class Peer(Engine):
    MODES = ("hybrid", "vector")
    node: subprocess.Popen | None = None

    def _modules(self):
        return Path(os.environ["PEERS_NODE_MODULES"])

    def version(self):
        return json.loads((self._modules() / "@orama/orama/package.json").read_text())["version"]

    def _start(self, verb):
        command = ["node", "--max-old-space-size=8192", str(SCRIPT), str(self._modules()), verb]
        self.node = subprocess.Popen(
            [*command, str(self.folder / "index.bin")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def build(self, passages, vectors):
        self._start("build")
        for passage, vector in zip(passages, vectors, strict=True):
            row = {"id": passage.id, "text": passage.whole, "embedding": vector.tolist()}
            self.node.stdin.write(json.dumps(row).encode() + b"\n")
        self.node.stdin.close()
        if self.node.wait() != 0:
            raise RuntimeError("Orama did not build its index.")

    def open(self):
        self._start("serve")
        if self.node.stdout.readline() != b"ready\n":
            raise RuntimeError("Orama did not load its index.")
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.waiting = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.node.stdout:
            answer = json.loads(line)
            event, box = self.waiting.pop(answer["number"])
            box.append(answer)
            event.set()
        for event, box in self.waiting.values():  # Node has ended
            box.append({"error": "Orama's process has ended"})
            event.set()

    def search(self, question, mode):
        vector = self.embedder.one(question).tolist()
        number = next(self.numbers)
        event, box = threading.Event(), []
        self.waiting[number] = (event, box)
        line = json.dumps({"number": number, "mode": mode, "term": question, "vector": vector}).encode() + b"\n"
        with self.lock:
            self.node.stdin.write(line)
            self.node.stdin.flush()
        event.wait()
        if "error" in box[0]:
            raise RuntimeError(box[0]["error"])
        return [hit["id"] for hit in box[0]["hits"]]

    def close(self):
        if self.node is not None:
            self.node.stdin.close()
            self.node.wait()
