"""One peer of the index benchmark: builds and searches on request.

Reads a JSON message a line, answers with a JSON object a line (see worker.mjs). All peers are asked in one batched
call a round, which spares them the cost of a Python call for each query.
"""

import ctypes
import gc
import json
import os
import sys
import time

import numpy as np


class Hnswlib:
    """hnswlib, compiled for this CPU."""

    def __init__(self, dims, metric, m, ef_construct):
        import hnswlib

        self.space = "l2" if metric == "euclid" else "ip"
        self.dims, self.m, self.ef_construct = dims, m, ef_construct
        self.make = hnswlib.Index
        self.index = None

    def build(self, rows, threads):
        self.index = self.make(space=self.space, dim=self.dims)
        self.index.init_index(
            max_elements=len(rows), M=self.m, ef_construction=self.ef_construct, random_seed=100
        )
        self.index.add_items(rows, num_threads=threads)

    def search(self, queries, k, ef, threads):
        self.index.set_ef(ef)
        return self.index.knn_query(queries, k, num_threads=threads)[0]

    def bytes(self):
        return self.index.index_file_size()


class Faiss:
    """faiss, HNSW over 32-bit floats."""

    def __init__(self, dims, metric, m, ef_construct):
        import faiss

        self.faiss = faiss
        self.dims, self.m, self.ef_construct = dims, m, ef_construct
        self.metric = faiss.METRIC_L2 if metric == "euclid" else faiss.METRIC_INNER_PRODUCT
        self.index = None

    def build(self, rows, threads):
        self.faiss.omp_set_num_threads(threads)
        self.index = self.faiss.IndexHNSWFlat(self.dims, self.m, self.metric)
        self.index.hnsw.efConstruction = self.ef_construct
        self.index.add(rows)

    def search(self, queries, k, ef, threads):
        self.faiss.omp_set_num_threads(threads)
        self.index.hnsw.efSearch = ef
        return self.index.search(queries, k)[1]

    def bytes(self):
        return len(self.faiss.serialize_index(self.index))


class Usearch:
    """usearch over 32-bit floats."""

    def __init__(self, dims, metric, m, ef_construct):
        from usearch.index import Index

        self.make = lambda: Index(
            ndim=dims,
            metric="l2sq" if metric == "euclid" else "ip",
            dtype="f32",
            connectivity=m,
            expansion_add=ef_construct,
        )
        self.index = None

    def build(self, rows, threads):
        self.index = self.make()
        self.index.add(np.arange(len(rows), dtype=np.uint64), rows, threads=threads)

    def search(self, queries, k, ef, threads):
        self.index.expansion_search = ef
        return self.index.search(queries, k, threads=threads).keys

    def bytes(self):
        return self.index.serialized_length


class Glass:
    """Glass: HNSW walked over 8-bit codes, the best re-ranked by 32-bit floats."""

    def __init__(self, dims, metric, m, ef_construct):
        import glass

        self.glass = glass
        self.metric = "L2" if metric == "euclid" else "IP"
        self.m, self.ef_construct = m, ef_construct
        self.index = self.searcher = self.tuned = None

    def build(self, rows, threads):
        self.glass.set_num_threads(threads)
        self.searcher = None
        maker = self.glass.Index(
            index_type="HNSW", metric=self.metric, quant="SQ8U", R=2 * self.m, L=self.ef_construct
        )
        graph = maker.build(rows)
        self.searcher = self.glass.Searcher(
            graph=graph, data=rows, metric=self.metric, quantizer="SQ8U", refine_quant="FP32"
        )
        self.tuned = False

    def search(self, queries, k, ef, threads):
        self.searcher.set_ef(ef)
        if not self.tuned:
            self.searcher.optimize(threads)
            self.tuned = True
        found = self.searcher.batch_search(queries, k, num_threads=threads)
        # Later releases answer distances as well.
        found = found[0] if isinstance(found, tuple) else found
        return np.asarray(found).reshape(len(queries), -1)

    def bytes(self):
        return None


PEERS = {
    "hnswlib": (Hnswlib, "hnswlib"),
    "faiss": (Faiss, "faiss-cpu"),
    "usearch": (Usearch, "usearch"),
    "glass": (Glass, "pyglass-portable"),
}


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
