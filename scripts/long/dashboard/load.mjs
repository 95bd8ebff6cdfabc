/** A short run in which a server does some of everything: writes, reads of several plans, refusals, checkpoints. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BuildError } from '../../build/process.mjs';
import { clusteredVectors, randomNumbers } from './vectors.mjs';

const DIMENSION = 64;
const BATCH = 250;
const ARTICLES = 24_000;
const PICTURES = 12_000;
const SECTIONS = ['science', 'sports', 'politics', 'travel', 'music', 'food', 'books', 'games'];
const WORDS = 2_000;

/** Graphs from 1 MB of vectors on, so that a short run has walks. */
const WALKED = {
  hnsw_config: { full_scan_threshold: 1000 },
  optimizers_config: { indexing_threshold: 1000 },
};

/** The collections of the run, by name. */
const COLLECTIONS = {
  articles: {
    vectors: { size: DIMENSION, distance: 'Cosine' },
    sparse_vectors: { words: { modifier: 'idf' } },
    ...WALKED,
  },
  pictures: {
    vectors: { size: DIMENSION, distance: 'Euclid' },
    quantization_config: { scalar: { type: 'int8', always_ram: true } },
    ...WALKED,
  },
  visitors: {
    vectors: { size: DIMENSION, distance: 'Dot' },
    strict_mode_config: { enabled: true, read_rate_limit: 60 },
  },
};

/**
 * Drives the server for a while.
 *
 * @param {string} url
 * @param {number} seconds
 * @returns {Promise<Map<number | 'aborted', number>>} how many answers had each status
 */
export async function drive(url, seconds) {
  const run = new Run(url, performance.now() + seconds * 1000);
  for (const [name, settings] of Object.entries(COLLECTIONS)) await run.must('PUT', `/${name}`, settings);
  await Promise.all([
    run.fill('articles', ARTICLES),
    run.fill('pictures', PICTURES),
    run.fill('visitors', BATCH),
    run.repeat(15, () => run.read()),
    run.repeat(20, () => run.read()),
    run.repeat(25, () => run.change()),
    run.repeat(400, () => run.refused()),
    run.repeat(2500, () => run.abandoned()),
    run.repeat(12_000, () => run.maintain()),
  ]);
  return run.statuses;
}

/** One run: its random numbers are the same each time, its order is not. */
class Run {
  #url;
  #until;
  #random = randomNumbers(34);
  #vectors = clusteredVectors(DIMENSION, 40, this.#random);
  #step = 0;
  #changed = 0;
  statuses = new Map();

  constructor(url, until) {
    this.#url = url;
    this.#until = until;
  }

  /** Does something again and again, with a pause of so many milliseconds, until the end. */
  async repeat(pauseMs, work) {
    while (performance.now() < this.#until) {
      await work();
      await sleep(pauseMs);
    }
  }

  async fill(name, count) {
    for (let first = 0; first < count && performance.now() < this.#until; first += BATCH) {
      const points = Array.from({ length: BATCH }, (_, place) => this.#point(name, first + place));
      await this.must('PUT', `/${name}/points`, { points });
      await sleep(200);
    }
  }

  /** A search of the next kind. */
  async read() {
    const kinds = this.#searches();
    const [name, path, body] = kinds[(this.#step += 1) % kinds.length];
    await this.must('POST', `/${name}/points/${path}`, body);
  }

  #searches() {
    const limit = 10;
    const vector = this.#vectors();
    const section = this.#ofSection();
    const few = { key: 'number', range: { lt: 60 } };
    const text = { query: this.#words(), using: 'words', limit };
    return [
      ['articles', 'search', { vector, limit }],
      ['articles', 'search', { vector, limit, with_payload: true, filter: { must: [section] } }],
      ['articles', 'search', { vector, limit, filter: { must: [section, few] } }],
      ['articles', 'query', { prefetch: [text, { query: vector, limit }], query: { fusion: 'rrf' }, limit }],
      ['articles', 'query', text],
      ['articles', 'query', { query: vector, limit, params: { exact: true } }],
      ['pictures', 'search', { vector, limit, params: { quantization: { rescore: true, oversampling: 2 } } }],
      [
        'pictures',
        'search/batch',
        {
          searches: [
            { vector, limit },
            { vector: this.#vectors(), limit },
          ],
        },
      ],
      ['pictures', 'scroll', { limit: 20, filter: { must: [section] } }],
      ['articles', 'count', { filter: { must: [few] } }],
    ];
  }

  /** One small write: a new version of a point, or a change of the payload or an end of a few. */
  async change() {
    const name = this.#random() < 0.7 ? 'articles' : 'pictures';
    const number = { key: 'number', match: { value: Math.floor(this.#random() * 1000) } };
    const filter = { must: [number, this.#ofSection()] };
    this.#changed += 1;
    if (this.#changed % 10 === 0) await this.must('POST', `/${name}/points/delete`, { filter });
    else if (this.#changed % 5 === 0)
      await this.must('POST', `/${name}/points/payload`, { payload: { seen: true }, filter });
    else {
      const id = Math.floor(this.#random() * PICTURES);
      await this.must('PUT', `/${name}/points`, { points: [this.#point(name, id)] });
    }
  }

  /** Requests that must be refused: of an absent collection, of a wrong shape, and beyond a rate. */
  async refused() {
    const vector = this.#vectors();
    await this.#send('POST', '/absent/points/search', { vector, limit: 1 });
    await this.#send('POST', '/articles/points/search', { vector: [1, 2], limit: 1 });
    for (let read = 0; read < 3; read += 1)
      await this.#send('POST', '/visitors/points/search', { vector, limit: 1 });
  }

  /** A request whose client does not wait for the answer. */
  async abandoned() {
    const body = { limit: 5000, with_payload: true, with_vector: true };
    await this.#send('POST', '/articles/points/scroll', body, AbortSignal.timeout(2));
  }

  /** A checkpoint, a field index that is built, a deletion by a filter. */
  async maintain() {
    await this.must('POST', '/articles/operations/flush');
    await this.must('POST', '/pictures/operations/flush');
    await this.must('PUT', '/articles/index', { field_name: 'section', field_schema: 'keyword' });
    await this.must('PUT', '/articles/index', { field_name: 'number', field_schema: 'integer' });
    const old = { key: 'number', range: { gte: 950 } };
    await this.must('POST', '/pictures/points/delete', { filter: { must: [old] } });
  }

  /** A request that must not be refused. */
  async must(method, path, body) {
    const { status, text } = await this.#send(method, path, body);
    if (status !== 200) throw new BuildError(`${method} ${path}: ${status}\n${text}`);
  }

  async #send(method, path, body, signal) {
    const text = JSON.stringify(body);
    const headers = { 'content-type': 'application/json' };
    let answer;
    try {
      const response = await fetch(`${this.#url}/collections${path}`, {
        method,
        headers,
        body: text,
        signal,
      });
      answer = { status: response.status, text: await response.text() };
    } catch (error) {
      if (error.name !== 'TimeoutError') throw error;
      answer = { status: 'aborted', text: '' };
    }
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    return answer;
  }

  #point(name, id) {
    const section = this.#oneOf(SECTIONS);
    const payload = { section, number: Math.floor(this.#random() * 1000), title: `${section} ${id}` };
    const dense = this.#vectors();
    return { id, vector: name === 'articles' ? { '': dense, words: this.#words() } : dense, payload };
  }

  /** A sparse vector of eight words; low numbers are frequent, as words are. */
  #words() {
    const words = new Set(Array.from({ length: 8 }, () => Math.floor(WORDS * this.#random() ** 3)));
    return { indices: [...words], values: [...words].map(() => 1) };
  }

  #ofSection() {
    return { key: 'section', match: { value: this.#oneOf(SECTIONS) } };
  }

  #oneOf(list) {
    return list[Math.floor(this.#random() * list.length)];
  }
}
