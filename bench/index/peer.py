"""One peer of the index benchmark: builds and searches on request.

Reads a JSON message a line, answers with a JSON object a line (see worker.mjs). Peers that take many queries at once are
asked in one call a round, which spares them the cost of a Python call for each query: some microseconds.
"""

import ctypes
import gc
import json
import os
import sys
import time

import numpy as np
from libraries import PEERS


def anonymous_bytes():
    """Memory of this process that no file backs, where the system tells."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def unit(vectors):
    """Rows scaled to unit length; zero rows stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)


class Session:
    """What the messages of one process refer to."""

    def __init__(self, name):
        self.kind, self.package = PEERS[name]

    def load(self, message):
        dims, folder = message["dims"], message["folder"]

        def read(file):
            return np.fromfile(os.path.join(folder, file), dtype="<f4").reshape(-1, dims)

        self.rows, self.queries = read("base.f32"), read("query.f32")
        if message["metric"] == "cosine":
            # Normalised here, so that no peer spends time on it later.
            self.rows, self.queries = unit(self.rows), unit(self.queries)
        self.k = message["k"]
        self.peer = self.kind(dims, message["metric"], message["m"], message["ef_construct"])
        from importlib.metadata import version

        return {"version": version(self.package)}

    def build(self, message):
        self.peer.index = None
        before = anonymous_bytes()
        start = time.perf_counter()
        self.peer.build(self.rows, message["threads"])
        seconds = time.perf_counter() - start
        after = anonymous_bytes()
        self.resident = None if before is None or after is None else after - before
        return {"seconds": seconds}

    def answers(self, message):
        found = self.peer.search(self.queries, self.k, message["ef"], message["threads"])
        np.ascontiguousarray(found, dtype="<i4").tofile(message["file"])
        return {}

    def round(self, message):
        queries = 0
        clock = time.process_time if message["clock"] == "cpu" else time.perf_counter
        start = clock()
        while True:
            self.peer.search(self.queries, self.k, message["ef"], message["threads"])
            queries += len(self.queries)
            seconds = clock() - start
            if seconds >= message["seconds"]:
                return {"queries": queries, "seconds": seconds}

    def memory(self, _message):
        return {"bytes": self.peer.bytes(), "resident": self.resident}


def main():
    # Libraries may print to the standard output, so answers get a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    session = Session(sys.argv[1])
    commands = {
        "load": session.load,
        "build": session.build,
        "answers": session.answers,
        "round": session.round,
        "memory": session.memory,
    }
    for line in sys.stdin:
        message = json.loads(line)
        try:
            answer = commands[message["command"]](message)
        except Exception as error:  # noqa: BLE001: whatever it is, the benchmark reports it and ends
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
