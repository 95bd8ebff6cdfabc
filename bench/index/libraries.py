"""The libraries that the index benchmark compares with: how each is built and searched.

Each has `build(rows, threads)`, `search(queries, k, ef, threads)`, which gives the row numbers of the nearest of each
query, and `bytes()`, the length of the index where the library tells. Rows of `cosine` have unit length.
"""

import ctypes
import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor

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


class SymphonyQg:
    """SymphonyQG (SIGMOD 2025): codes of one bit of a node's neighbours stand beside its links, and each visited node is
    compared exactly. Its degree is a multiple of 32."""

    def __init__(self, dims, metric, m, ef_construct):
        import rabitqlib

        self.make = rabitqlib.SymqgIndex
        self.dims, self.degree, self.ef_construct = dims, 32 * math.ceil(2 * m / 32), ef_construct
        self.index = None

    def build(self, rows, threads):
        # Unit vectors have the same neighbours by Euclidean distance as by cosine.
        self.index = self.make(self.dims, self.degree, metric="l2", quantization_bits=0)
        self.index.build(rows, self.ef_construct, num_threads=threads)

    def search(self, queries, k, ef, threads):
        return self.index.search_batch(queries, k, ef, threads)[0]

    def bytes(self):
        return None


class Svs:
    """Intel's SVS: Vamana over 16-bit floats. Its own codes, LVQ and LeanVec, need a processor of Intel's. The degree is
    that of the lowest layer of the others; `alpha` and the pool are those that its documentation recommends. Whether
    visited nodes are noted and what is fetched ahead is tried out before the first search."""

    POOL = 750
    TRIES = 3
    WINDOW = 40

    def __init__(self, dims, metric, m, ef_construct):
        import svs

        self.svs = svs
        self.is_euclid = metric == "euclid"
        self.degree, self.ef_construct = 2 * m, ef_construct
        self.index = self.tuned = None

    def build(self, rows, threads):
        svs = self.svs
        parameters = svs.VamanaBuildParameters(
            graph_max_degree=self.degree,
            window_size=self.ef_construct,
            alpha=1.2 if self.is_euclid else 0.95,
            max_candidate_pool_size=self.POOL,
            prune_to=self.degree - 4,
        )
        distance = svs.DistanceType.L2 if self.is_euclid else svs.DistanceType.MIP
        self.index = svs.Vamana.build(parameters, rows.astype(np.float16), distance, num_threads=threads)
        self.tuned = None

    def search(self, queries, k, ef, threads):
        self.index.num_threads = threads
        if self.tuned is None:
            self.tuned = self.best_of(queries, k)
        self.index.search_parameters = self.parameters(ef, *self.tuned)
        return self.index.search(queries, k)[0]

    def parameters(self, ef, visited, ahead, step):
        return self.svs.VamanaSearchParameters(self.svs.SearchBufferConfig(ef, ef), visited, ahead, step)

    def best_of(self, queries, k):
        choices = [
            (visited, ahead, step)
            for visited in (True, False)
            for ahead in (0, 1, 2, 4, 8, 16)
            for step in ((1, 2, 4) if ahead else (0,))
        ]
        return min(choices, key=lambda choice: self.time_of(queries, k, choice))

    def time_of(self, queries, k, choice):
        self.index.search_parameters = self.parameters(self.WINDOW, *choice)
        times = []
        for _ in range(self.TRIES):
            start = time.perf_counter()
            self.index.search(queries, k)
            times.append(time.perf_counter() - start)
        return min(times)

    def bytes(self):
        return None


class Scann:
    """ScaNN: a partition of about 1.6 times the root of the rows, codes of 4 bits, the best re-ranked by 32-bit floats.
    It has no `ef`: a quarter of it is the number of parts that are searched, and 30 + 0.35 of it are re-ranked, which is
    near the best choice for each recall. Searches go one by one, as those of the others do."""

    FLAGS = ("15should_use_avx2E", "17should_use_avx512E", "22should_use_avx512_vnniE")
    NEEDS = ("avx2", "avx512f", "avx512_vnni")

    def __init__(self, dims, metric, m, ef_construct):
        import scann

        self.builder = scann.scann_ops_pybind.builder
        self.is_euclid = metric == "euclid"
        self.index = None
        self.use_what_the_processor_has()

    def use_what_the_processor_has(self):
        """The wheel takes every processor for one with SSE4 and AVX; what it may use is in exported variables."""
        library = next(
            module.__file__
            for name, module in sys.modules.items()
            if name.endswith("scann_pybind") and (module.__file__ or "").endswith(".so")
        )
        with open("/proc/cpuinfo", encoding="ascii") as lines:
            has = set(next(line for line in lines if line.startswith("flags")).split())
        for flag, needed in zip(self.FLAGS, self.NEEDS):
            if needed in has:
                name = "_ZN14research_scann14flags_internal" + flag
                ctypes.c_bool.in_dll(ctypes.CDLL(library), name).value = True

    def build(self, rows, threads):
        leaves = max(16, int(1.6 * math.sqrt(len(rows))))
        kind = "squared_l2" if self.is_euclid else "dot_product"
        # Spilling and anisotropic codes are for inner products.
        spilling = {} if self.is_euclid else {"soar_lambda": 1.5, "overretrieve_factor": 2.0}
        threshold = float("nan") if self.is_euclid else 0.2
        builder = self.builder(rows, 10, kind).set_n_training_threads(threads)
        builder = builder.tree(
            num_leaves=leaves, num_leaves_to_search=10, training_sample_size=len(rows), **spilling
        )
        self.index = builder.score_ah(2, anisotropic_quantization_threshold=threshold).reorder(100).build()

    def search(self, queries, k, ef, threads):
        leaves, again = math.ceil(ef / 4), 30 + math.ceil(0.35 * ef)
        if threads > 1:
            return self.index.search_batched_parallel(queries, k, again, leaves)[0].astype(np.int32)
        search = self.index.search
        return [padded(search(query, k, again, leaves)[0], k) for query in queries]

    def bytes(self):
        return None


class Vsag:
    """VSAG's HGraph: codes of 8 bits with one scale, the best re-ranked by 32-bit floats."""

    def __init__(self, dims, metric, m, ef_construct):
        import pyvsag

        pyvsag.set_logger_off()
        self.make = pyvsag.Index
        self.dims, self.degree, self.ef_construct = dims, 2 * m, ef_construct
        self.index = None

    def build(self, rows, threads):
        parameters = {
            "max_degree": self.degree,
            "ef_construction": self.ef_construct,
            "build_thread_count": threads,
            "alpha": 1.2,
            "base_quantization_type": "sq8_uniform",
            "use_reorder": True,
            "precise_quantization_type": "fp32",
        }
        # Unit vectors have the same neighbours by Euclidean distance as by cosine.
        described = {"dtype": "float32", "metric_type": "l2", "dim": self.dims, "index_param": parameters}
        self.index = self.make("hgraph", json.dumps(described))
        ids = np.arange(len(rows), dtype=np.int64)
        self.index.build(vectors=rows.ravel(), ids=ids, num_elements=len(rows), dim=self.dims)

    def search(self, queries, k, ef, threads):
        how, search = json.dumps({"hgraph": {"ef_search": ef}}), self.index.knn_search
        if threads == 1:
            return [padded(search(query, k, how)[0], k) for query in queries]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda query: padded(search(query, k, how)[0], k), queries))

    def bytes(self):
        return None


PEERS = {
    "hnswlib": (Hnswlib, "hnswlib"),
    "faiss": (Faiss, "faiss-cpu"),
    "usearch": (Usearch, "usearch"),
    "glass": (Glass, "pyglass-portable"),
    "symphonyqg": (SymphonyQg, "rabitqlib"),
    "svs": (Svs, "scalable-vs"),
    "scann": (Scann, "scann"),
    "vsag": (Vsag, "pyvsag"),
}


def padded(rows, k):
    """Row numbers of one query as an array of `k`, with -1 where fewer were found."""
    return np.concatenate((rows, np.full(k - len(rows), -1))) if len(rows) < k else rows
