/**
 * The measurement itself. All systems do each step in turn, round after round, so that other work on the machine affects
 * all of them alike. The median of the rounds counts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recall } from '../recall.mjs';
import { median } from './curve.mjs';

/** A system that has found this share of the neighbours is not measured at a larger ef. */
const ENOUGH_RECALL = 0.9985;

const DISTANCES = { cosine: 'Cosine', dot: 'Dot', euclid: 'Euclid' };

/**
 * @typedef {object} Contender a way of searching: one of ours, or a peer's only one
 * @property {import('./worker.mjs').Worker} worker
 * @property {string} system
 * @property {string | null} mode
 */

export class Competition {
  #set;
  #folder;
  #k;
  #truth;

  /**
   * @param {import('./dataset.mjs').DataSet} set
   * @param {string} folder where files for the workers are put
   * @param {number} k
   */
  constructor(set, folder, k) {
    this.#set = set;
    this.#folder = folder;
    this.#k = k;
    writeFloats(join(folder, 'base.f32'), set.base);
    writeFloats(join(folder, 'query.f32'), set.query);
    /** @type {Contender[]} */
    this.contenders = [];
    this.workers = [];
  }

  /** Lets workers read the data. `config` is what our collection is created with beside the parameters of all. */
  async enter(workers, { m, efConstruction, config }) {
    for (const worker of workers) {
      const { version, modes } = await worker.ask({
        command: 'load',
        folder: this.#folder,
        dims: this.#set.dims,
        metric: this.#set.metric,
        k: this.#k,
        m,
        ef_construct: efConstruction,
        config,
      });
      worker.version = version;
      this.workers.push(worker);
      for (const mode of modes ?? [null]) this.contenders.push({ worker, system: worker.name, mode });
    }
  }

  /** The ground truth of the folder, or the one that a worker finds by comparing every row. */
  async prepareTruth(worker) {
    const { queries, dims, query, base, metric } = this.#set;
    let { truth, truthCount } = this.#set;
    if (!truth || truthCount < this.#k) {
      const file = join(this.#folder, 'truth.i32');
      await worker.ask({ command: 'truth', file });
      [truth, truthCount] = [readIntegers(file), this.#k];
    }
    this.#truth = {
      distance: DISTANCES[metric],
      query: (at) => query.subarray(at * dims, (at + 1) * dims),
      base: (at) => base.subarray(at * dims, (at + 1) * dims),
      nearest: (at) => truth.subarray(at * truthCount, (at + 1) * truthCount),
      queries,
    };
  }

  /** Builds every index `rounds` times. */
  async build(threads, rounds, say) {
    const seconds = new Map(this.workers.map((worker) => [worker, []]));
    for (let round = 0; round < rounds; round++) {
      for (const worker of this.workers) {
        seconds.get(worker).push((await worker.ask({ command: 'build', threads })).seconds);
      }
    }
    return this.workers.map((worker) => {
      const build = {
        system: worker.name,
        threads,
        rows_per_s: Math.round(this.#set.rows / median(seconds.get(worker))),
      };
      say(build);
      return build;
    });
  }

  /**
   * Recall and rate of every contender at every ef.
   *
   * @param {object} how
   * @param {number[]} how.efs rising
   * @param {number} how.everyEfTo every contender is measured up to this ef
   * @param {number} how.threads
   * @param {number} how.rounds
   * @param {number} how.seconds length of a round
   * @param {'wall' | 'cpu'} how.clock what rounds are timed by
   * @param {(run: object) => void} say called with each result
   */
  async search({ efs, everyEfTo, threads, rounds, seconds, clock }, say) {
    const runs = [];
    let running = this.contenders;
    for (const ef of efs) {
      const found = new Map();
      for (const contender of running) found.set(contender, await this.#recall(contender, ef, threads));
      const rates = new Map(running.map((contender) => [contender, []]));
      for (let round = 0; round < rounds; round++) {
        for (const contender of running) {
          const { worker, mode } = contender;
          const took = await worker.ask({ command: 'round', mode, ef, threads, seconds, clock });
          rates.get(contender).push(took.queries / took.seconds);
        }
      }
      for (const contender of running) {
        const qps = median(rates.get(contender));
        const run = {
          system: contender.system,
          mode: contender.mode,
          threads,
          ef,
          recall: round(found.get(contender), 5),
          qps: Math.round(qps),
          us_per_query: round(1e6 / qps, 2),
        };
        runs.push(run);
        say(run);
      }
      running = running.filter((contender) => ef < everyEfTo || found.get(contender) < ENOUGH_RECALL);
      if (running.length === 0) break;
    }
    return runs;
  }

  /** One pass over all queries, which also warms up. */
  async #recall({ worker, mode }, ef, threads) {
    const file = join(this.#folder, `answers-${worker.name}.i32`);
    await worker.ask({ command: 'answers', mode, ef, threads, file });
    const rows = readIntegers(file);
    const answers = Array.from({ length: this.#truth.queries }, (_, at) =>
      Array.from(rows.subarray(at * this.#k, (at + 1) * this.#k)).filter((row) => row >= 0),
    );
    return recall(this.#truth, answers, this.#k);
  }

  /** Bytes a row, as each system reports them. */
  async memory() {
    const list = [];
    for (const worker of this.workers) {
      const {
        bytes,
        resident,
        with_originals: withOriginals,
        ...parts
      } = await worker.ask({ command: 'memory' });
      const perRow = (value) => (value == null ? null : round(value / this.#set.rows, 1));
      const components = Object.fromEntries(
        Object.entries(parts).map(([part, value]) => [part, perRow(value)]),
      );
      list.push({
        system: worker.name,
        bytes_per_row: perRow(bytes),
        ...(withOriginals === undefined ? {} : { with_originals_bytes_per_row: perRow(withOriginals) }),
        ...(resident === undefined ? {} : { resident_bytes_per_row: perRow(resident) }),
        ...(Object.keys(components).length ? { components } : {}),
      });
    }
    return list;
  }
}

function round(value, digits) {
  return Number(value.toFixed(digits));
}

function writeFloats(path, values) {
  writeFileSync(path, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}

function readIntegers(path) {
  // A copy: a typed array needs an aligned start.
  return new Int32Array(Uint8Array.from(readFileSync(path)).buffer);
}
