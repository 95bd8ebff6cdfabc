/**
 * Requests at a fixed rate, whatever becomes of the ones before: a server that does not answer for a while is asked all the same,
 * as by many clients. Times count from the moment at which a request was due.
 */
import { Connection } from '../connection.mjs';

/** @typedef {{dueAt: number, answeredAt: number, status: number}} Sample times in ms of `performance.now`; status 0 without an answer */

export class SteadyLoad {
  #url;
  #requests;
  #intervalMs;
  #free = [];
  #underWay = new Set();
  #next = 0;
  #startedAt = 0;
  #timer;
  /** @type {Sample[]} */
  #samples = [];

  /**
   * @param {URL} url
   * @param {Buffer[]} requests sent one after the other, again and again
   * @param {number} perSecond
   */
  constructor(url, requests, perSecond) {
    this.#url = url;
    this.#requests = requests;
    this.#intervalMs = 1000 / perSecond;
  }

  start() {
    this.#startedAt = performance.now();
    this.#sendDue();
  }

  /** Sends nothing more and waits for the answers that are due. */
  async stop() {
    clearTimeout(this.#timer);
    await Promise.all(this.#underWay);
    for (const connection of this.#free) connection.close();
    return this.#samples;
  }

  #sendDue() {
    for (;;) {
      const dueAt = this.#startedAt + this.#next * this.#intervalMs;
      const leftMs = dueAt - performance.now();
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#sendDue(), leftMs);
        return;
      }
      const sent = this.#send(dueAt);
      this.#underWay.add(sent);
      void sent.finally(() => this.#underWay.delete(sent));
      this.#next += 1;
    }
  }

  async #send(dueAt) {
    const connection = this.#free.pop() ?? new Connection(this.#url);
    const bytes = this.#requests[this.#next % this.#requests.length];
    let status = 0;
    try {
      ({ status } = await connection.send(bytes));
      this.#free.push(connection);
    } catch {
      connection.close();
    }
    this.#samples.push({ dueAt, answeredAt: performance.now(), status });
  }
}
