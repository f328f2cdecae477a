"""Runs one step of the comparison in this process. bench/peers/run.ts starts it and names the file of its result, which
is JSON, in PEERS_RESULT.

    step.py embed WORK                          embeds the passages into WORK/vectors.npy, can be resumed
    step.py build WORK --engine E               indexes the passages in WORK/stores/E
    step.py ask   WORK --engine E --mode M      asks the questions: one client, then several
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
from engine import DIMENSIONS, Embedder, Engine, read_passages

#: Questions are asked before the measurement for this time in seconds, and at least this many of them. Engines with a
#: JIT compiler need a thousand searches until they are as fast as a server that runs for a while.
WARM_UP_SECONDS = 6.0
WARM_UP_MIN = 20
#: Texts per call of the model. Larger batches are slower, because their activations leave the cache of the processor.
BATCH = 2
#: Passages between two saved states of the embed step.
SHARD = 500


def make(name: str, work: Path, embedder: Embedder) -> Engine:
    """Makes the engine of the module engines/`name`.py."""
    return importlib.import_module(f"engines.{name}").Peer(work / "stores" / name, embedder)


def embed(work: Path) -> dict:
    """Embeds all passages on all cores."""
    target, state = work / "vectors.npy", work / "embedding.json"
    passages = read_passages(work / "passages.jsonl")
    known = json.loads(state.read_text()) if state.exists() else {"seconds": 0.0}
    done = np.load(target) if target.exists() else np.zeros((0, DIMENSIONS), np.float32)
    embedder = Embedder()
    embedder.load()
    cores = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(cores) as pool:
        while len(done) < len(passages):
            started = time.perf_counter()
            shard = [embedder.token_ids(passage.whole) for passage in passages[len(done) : len(done) + SHARD]]
            order = sorted(range(len(shard)), key=lambda at: len(shard[at]))  # similar lengths need little padding
            batches = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
            vectors = np.zeros((len(shard), DIMENSIONS), np.float32)
            for rows, found in zip(
                batches,
                pool.map(lambda rows: embedder.embed_ids([shard[row] for row in rows]), batches),
                strict=True,
            ):
                vectors[rows] = found
            done = np.concatenate([done, vectors])
            known["seconds"] += time.perf_counter() - started
            part = target.with_suffix(".part")
            with open(part, "wb") as file:
                np.save(file, done)
            part.rename(target)
            state.write_text(json.dumps(known))
            print(f"{len(done)} of {len(passages)} embedded", file=sys.stderr, flush=True)
    return {"passages": len(passages), "seconds": round(known["seconds"], 2)}


def build(work: Path, name: str) -> dict:
    """Indexes all passages in a new store."""
    folder = work / "stores" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    passages = read_passages(work / "passages.jsonl")
    embedder = Embedder()
    engine = make(name, work, embedder)
    vectors = np.zeros((0, DIMENSIONS), np.float32)
    if engine.USES_VECTORS:
        vectors = np.load(work / "vectors.npy")
        if len(vectors) != len(passages):
            raise RuntimeError(f"{len(vectors)} of {len(passages)} passages are embedded; run the embed step first.")
        embedder.remember(passages, vectors)
    started = time.perf_counter()
    with contextlib.closing(engine):
        engine.build(passages, vectors)
    seconds = time.perf_counter() - started
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "version": engine.version(),
        "setting": setting_of(name),
        "modes": engine.MODES,
        "uses_vectors": engine.USES_VECTORS,
        "passages": len(passages),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(sum(used.ru_utime + used.ru_stime for used in usage), 2),
        "disk_bytes": disk_bytes(folder),
    }


def setting_of(name: str) -> str:
    """How the engine is set: the docstring of its module, in one line."""
    return " ".join((importlib.import_module(f"engines.{name}").__doc__ or "").split())


def disk_bytes(folder: Path) -> int:
    """Blocks that the files of a folder take."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sum(path.stat().st_blocks * 512 for path in files)


def ask(work: Path, name: str, mode: str, clients: int, seconds: float) -> dict:
    """Asks every question once with one client, then asks with several clients for `seconds`."""
    with open(work / "questions.jsonl", encoding="utf-8") as lines:
        questions = [json.loads(line)["text"] for line in lines]
    engine = make(name, work, Embedder())
    with contextlib.closing(engine):
        started = time.perf_counter()
        engine.open()
        opened = time.perf_counter() - started
        warmed, end = 0, time.perf_counter() + WARM_UP_SECONDS
        while warmed < WARM_UP_MIN or time.perf_counter() < end:
            engine.search(questions[warmed % len(questions)], mode)
            warmed += 1
        times, found = [], []
        for question in questions:
            at = time.perf_counter()
            found.append(engine.search(question, mode))
            times.append(round((time.perf_counter() - at) * 1000, 3))
        together, elapsed = concurrently(engine, questions, mode, clients, seconds)
        return {
            "version": engine.version(),
            "setting": setting_of(name),
            "open_seconds": round(opened, 2),
            "found": found,
            "times_ms": times,
            "clients": clients,
            "concurrent_seconds": round(elapsed, 3),
            "concurrent_times_ms": together,
            "memory_bytes": memory_bytes(engine),
        }


def concurrently(
    engine: Engine, questions: list[str], mode: str, clients: int, seconds: float
) -> tuple[list[float], float]:
    """Asks with several clients, each of which waits for its answer before it asks again.

    Returns the times of the searches that ended within `seconds`, in milliseconds, and the exact duration.
    """
    times: list[float] = []
    failures: list[Exception] = []
    own = [engine.for_client() for _ in range(clients)]
    begin = threading.Barrier(clients + 1)
    stop = threading.Event()

    def client(number: int) -> None:
        at = number * len(questions) // clients
        try:
            own[number].search(questions[at], mode)  # connects and warms up
        except Exception as error:
            failures.append(error)
        begin.wait()
        try:
            while not stop.is_set():
                at = (at + 1) % len(questions)
                started = time.perf_counter()
                own[number].search(questions[at], mode)
                if not stop.is_set():
                    times.append(round((time.perf_counter() - started) * 1000, 3))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(clients)]
    for thread in threads:
        thread.start()
    begin.wait(timeout=120)
    started = time.perf_counter()
    stop.wait(seconds)
    stop.set()
    elapsed = time.perf_counter() - started
    answered = times[:]
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return answered, elapsed


def memory_bytes(engine: Engine) -> int:
    """Proportional set size of the engine's server with its children, or of this process with its children."""
    roots = [psutil.Process(pid) for pid in engine.servers()] or [psutil.Process()]
    whole = 0
    for process in {member for root in roots for member in [root, *root.children(recursive=True)]}:
        with contextlib.suppress(psutil.NoSuchProcess):  # a server's short-lived workers may end meanwhile
            whole += process.memory_full_info().pss
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["embed", "build", "ask"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--engine", default="")
    parser.add_argument("--mode", default="")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    # run.ts ends the whole process group when the time is up; engines close on the way out
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    if given.step == "embed":
        result = embed(given.work)
    elif given.step == "build":
        result = build(given.work, given.engine)
    else:
        result = ask(given.work, given.engine, given.mode, given.clients, given.seconds)
    Path(os.environ["PEERS_RESULT"]).write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
