/** Tests that ran, over all runners: how many, and how long each took. */

const SHOWN = 10;

export class Tally {
  #passed = 0;
  #failed = 0;
  #skipped = 0;
  /** @type {{name: string, seconds: number}[]} */
  #times = [];

  /** @param {{passed: number, failed: number, skipped: number}} counts */
  add({ passed, failed, skipped }) {
    this.#passed += passed;
    this.#failed += failed;
    this.#skipped += skipped;
  }

  /** How long one test took, while other steps ran beside it. */
  time(name, seconds) {
    this.#times.push({ name, seconds });
  }

  printSlowest() {
    if (this.#times.length === 0) return;
    console.log('The slowest tests:');
    const slowest = this.#times.sort((a, b) => b.seconds - a.seconds).slice(0, SHOWN);
    for (const { name, seconds } of slowest) console.log(`${`${seconds.toFixed(1)} s`.padStart(8)}  ${name}`);
  }

  /** @param {boolean} hasFailed a step may fail without a test that does */
  printCounts(hasFailed) {
    const failed = hasFailed ? Math.max(this.#failed, 1) : this.#failed;
    const skipped = this.#skipped > 0 ? `, ${this.#skipped} skipped` : '';
    console.log(`${this.#passed} passed, ${failed} failed${skipped}`);
  }
}
