/** The requests of attackers, of those beside them, and of users. Each is one that a server answers with a 200 when it has time. */

/** The collections that every server has: the whole set with its payload, and a small one without. */
export const HEAVY = 'bench_load_heavy';
export const LIGHT = 'bench_load_light';

/** A field of text without an index; sets without payload do not have it, and their filters match nothing either. */
const TEXT_FIELD = 'description';

const SEARCH_EF = 64;

/** Made once for a set; most are the same for every server. */
export class Requests {
  #set;
  #scale;

  /**
   * @param {import('../../data/vector-set.mjs').VectorSet} set
   * @param {typeof import('./scale.mjs').FULL} scale
   */
  constructor(set, scale) {
    this.#set = set;
    this.#scale = scale;
  }

  /** The bystander's: cheap, each for another query. */
  lightSearches() {
    return this.#searches(LIGHT, { hnsw_ef: SEARCH_EF });
  }

  /** Ordinary ones of the whole set. */
  searches() {
    return this.#searches(HEAVY, { hnsw_ef: SEARCH_EF });
  }

  /** Batches of exact searches, whose length decides what one costs. */
  costlySearches(length) {
    return this.#queries(16).map((_, at) => {
      const one = (vector) => `{"vector":${vector},"limit":10,"params":{"exact":true}}`;
      const searches = this.#queries(length, at).map(one);
      return post('costly', `${points(HEAVY)}/search/batch`, `{"searches":[${searches.join(',')}]}`);
    });
  }

  /** Attack 1: a filter that reads the payload of every point, and tokenises it for each of its conditions. */
  textReads() {
    const filter = this.#textFilter('read');
    const vector = this.#set.queryJson(0);
    return [
      post('text', `${points(HEAVY)}/search`, `{"vector":${vector},"limit":10,"filter":${filter}}`),
      post('text', `${points(HEAVY)}/scroll`, `{"limit":10,"filter":${filter}}`),
    ];
  }

  /** Attack 1: every point is compared with every example. */
  bestScore() {
    const positive = this.#ids(this.#scale.recommendIds);
    const query = { recommend: { positive, strategy: 'best_score' } };
    return [this.#query('best_score', { query, limit: 10 })];
  }

  /** Attack 1: every point is compared with both sides of every pair. */
  discover() {
    const pairs = this.#scale.discoverPairs;
    const ids = this.#ids(2 * pairs);
    const context = Array.from({ length: pairs }, (_, at) => ({
      positive: ids[(2 * at) % ids.length],
      negative: ids[(2 * at + 1) % ids.length],
    }));
    const target = Array.from(this.#set.query(0));
    return [this.#query('discover', { query: { discover: { target, context } }, limit: 10 })];
  }

  /** Attack 1: every candidate is compared with every one that was chosen before it. */
  mmr() {
    const candidates = Math.min(this.#scale.mmrCandidates, this.#set.rows);
    const nearest = Array.from(this.#set.query(0));
    const query = { nearest, mmr: { diversity: 0.5, candidates_limit: candidates } };
    return [this.#query('mmr', { query, limit: candidates })];
  }

  /** Attack 2: what a slow body begins. */
  slowUpsert() {
    return [{ label: 'slow', method: 'PUT', path: `${points(HEAVY)}?wait=true` }];
  }

  /** Attack 6: an answer with almost all points, their vectors and payload. */
  wholeAnswer() {
    const limit = Math.min(this.#scale.wholeAnswerPoints, this.#set.rows);
    return [
      post(
        'whole',
        `${points(HEAVY)}/scroll`,
        JSON.stringify({ limit, with_payload: true, with_vector: true }),
      ),
    ];
  }

  /** Attacks 18 and 19: each operation reads the payload of every point. */
  heavyBatch() {
    const operations = Array.from(
      { length: this.#scale.batchOperations },
      (_, at) => `{"set_payload":{"payload":{"touched":${at}},"filter":${this.#textFilter(`write${at}`)}}}`,
    );
    const body = `{"operations":[${operations.join(',')}]}`;
    return [post('batch', `${points(HEAVY)}/batch?timeout=3600`, body)];
  }

  /** One point, again and again. */
  smallUpserts(collection) {
    const point = (row) => `{"id":${row},"vector":${this.#set.baseJson(row)}}`;
    return Array.from({ length: 16 }, (_, row) => ({
      label: 'upsert',
      method: 'PUT',
      path: `${points(collection)}?wait=true&timeout=15`,
      body: `{"points":[${point(row)}]}`,
    }));
  }

  /** A collection that is made and deleted, again and again. */
  creations() {
    const path = '/collections/bench_load_created';
    const body = JSON.stringify({ vectors: { size: this.#set.dims, distance: this.#set.distance } });
    return [
      { label: 'create', method: 'PUT', path, body },
      { label: 'delete', method: 'DELETE', path },
    ];
  }

  #searches(collection, params) {
    return this.#queries(100).map((vector) =>
      post(
        'search',
        `${points(collection)}/search`,
        `{"vector":${vector},"limit":10,"params":${JSON.stringify(params)}}`,
      ),
    );
  }

  #queries(count, from = 0) {
    return Array.from({ length: count }, (_, at) => this.#set.queryJson((from + at) % this.#set.queries));
  }

  #query(label, body) {
    return post(label, `${points(HEAVY)}/query`, JSON.stringify(body));
  }

  /** Ids of the set, each once while there are enough. */
  #ids(count) {
    return Array.from({ length: Math.min(count, this.#set.rows - 1) }, (_, id) => id);
  }

  /** Words that no text has: a condition that holds would spare the others. */
  #textFilter(salt) {
    const conditions = Array.from({ length: this.#scale.textConditions }, (_, at) => ({
      key: TEXT_FIELD,
      match: { text: `qx${salt}z${at}` },
    }));
    return JSON.stringify({ should: conditions });
  }
}

function points(collection) {
  return `/collections/${collection}/points`;
}

function post(label, path, body) {
  return { label, method: 'POST', path, body };
}
