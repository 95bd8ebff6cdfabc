"""Cuts data/debian-small out of the full debian-384 set.

    python data/cut.py FULL_SET_FOLDER data/debian-small

Needs numpy. The result is the same on every run: the choice of rows is seeded.

What it takes: QUERIES questions that have a good answer in the full set, spread over the archive's
sections; the nearest rows of each, so that the good answers come along; and random rows with tags, as
the haystack around them. Ground truth is computed again within the cut, in double precision.
"""

import gzip
import json
import pathlib
import sys

import numpy as np

ROWS = 2_000
QUERIES = 100
NEIGHBOURS = 8  # rows taken along with each question
GROUNDTRUTH_K = 50
SEED = 384

# A question counts as answerable when its best match in the full set scores at least this.
GOOD_SCORE = 0.60
# No section may provide more questions than this, or perl and python would fill the set.
QUERIES_PER_SECTION = 7
# Long descriptions would push the set over the size that a repository should carry.
MAX_DESCRIPTION = 400


def main(source: pathlib.Path, target: pathlib.Path) -> None:
    meta = json.loads((source / "meta.json").read_text())
    rows, dims = meta["rows"], meta["dims"]
    base = np.frombuffer(gzip.decompress((source / meta["base"]).read_bytes()), "<f2").reshape(rows, dims)
    queries = np.frombuffer((source / meta["query"]).read_bytes(), "<f2").reshape(-1, dims)
    nearest = np.frombuffer((source / meta["groundtruth"]).read_bytes(), "<i4").reshape(len(queries), -1)
    scores = np.frombuffer((source / "groundtruth-scores.f32").read_bytes(), "<f4").reshape(nearest.shape)
    with gzip.open(source / meta["payload"], "rt", encoding="utf-8") as lines:
        payloads = [json.loads(line) for line in lines]
    questions = [json.loads(line) for line in (source / "queries.jsonl").read_text("utf-8").splitlines()]

    random = np.random.default_rng(SEED)
    chosen_questions = choose_questions(questions, scores, random)
    chosen_rows = choose_rows(chosen_questions, nearest, payloads, random)
    write(target, base[chosen_rows], [payloads[row] for row in chosen_rows],
          queries[chosen_questions], [questions[index] for index in chosen_questions])


def choose_questions(questions, scores, random):
    """Indexes of answerable questions that read as a sentence, in their old order."""
    per_section, chosen, texts = {}, [], set()
    for index in random.permutation(len(questions)):
        question = questions[index]
        text, section = question["text"], question["section"]
        readable = 20 <= len(text) <= 80 and " - " not in text and "(" not in text and text.lower() not in texts
        if not readable or scores[index][0] < GOOD_SCORE or per_section.get(section, 0) == QUERIES_PER_SECTION:
            continue
        per_section[section] = per_section.get(section, 0) + 1
        texts.add(text.lower())
        chosen.append(int(index))
        if len(chosen) == QUERIES:
            return sorted(chosen)
    raise SystemExit(f"only {len(chosen)} questions qualify")


def choose_rows(chosen_questions, nearest, payloads, random):
    """Row numbers of the answers and of the haystack, in their old order."""
    rows = {int(row) for index in chosen_questions for row in nearest[index][:NEIGHBOURS]}
    for row in random.permutation(len(payloads)):
        if len(rows) == ROWS:
            break
        payload = payloads[row]
        if payload["tags"] and len(payload["description"]) <= MAX_DESCRIPTION:
            rows.add(int(row))
    return sorted(rows)


def write(target, base, payloads, queries, questions):
    target.mkdir(parents=True, exist_ok=True)
    (target / "base.f16").write_bytes(base.astype("<f2").tobytes())
    (target / "query.f16").write_bytes(queries.astype("<f2").tobytes())
    write_lines(target / "payload.jsonl", ({**payload, "id": row} for row, payload in enumerate(payloads)))
    write_lines(target / "queries.jsonl", ({**question, "id": row} for row, question in enumerate(questions)))

    # The f16 values, exactly; cosine in double precision; best first, ties by row number.
    wide, asked = base.astype(np.float64), queries.astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    cosines = asked @ wide.T
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :GROUNDTRUTH_K]
    (target / "groundtruth.i32").write_bytes(order.astype("<i4").tobytes())
    best = np.take_along_axis(cosines, order, axis=1)
    (target / "groundtruth-scores.f32").write_bytes(best.astype("<f4").tobytes())

    meta = {
        "name": target.name, "rows": len(base), "dims": base.shape[1], "dtype": "f16", "metric": "cosine",
        "base": "base.f16", "queries": len(queries), "query": "query.f16",
        "groundtruth": "groundtruth.i32", "groundtruth_k": GROUNDTRUTH_K,
        "groundtruth_scores": "groundtruth-scores.f32", "payload": "payload.jsonl",
        "query_texts": "queries.jsonl",
    }
    (target / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")


def write_lines(path, records):
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
