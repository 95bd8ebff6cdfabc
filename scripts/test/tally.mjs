/** Tests that ran, over all runners: how many, and how long each took. */

const SHOWN = 10;

export class Tally {
  #passed = 0;
  #failed = 0;
  /** @type {{name: string, why: string}[]} */
  #skipped = [];
  /** @type {{name: string, message: string}[]} */
  #failures = [];
  /** @type {{name: string, seconds: number}[]} */
  #times = [];

  /** @param {{passed: number, failed: number}} counts */
  add({ passed, failed }) {
    this.#passed += passed;
    this.#failed += failed;
  }

  /** A test, or a whole step, that did not run, and why. */
  skip(name, why) {
    this.#skipped.push({ name, why });
  }

  /** A test that failed, and the first lines of what it said. */
  fail(name, message) {
    this.#failures.push({ name, message });
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

  printSkipped() {
    if (this.#skipped.length === 0) return;
    console.log('Skipped:');
    for (const { name, why } of this.#skipped) console.log(`  ${name}: ${why}`);
  }

  /** The end of an output is what is kept of it where it is cut. */
  printFailures() {
    if (this.#failures.length === 0) return;
    console.log('Failed:');
    for (const { name, message } of this.#failures)
      console.log(`  ${name}\n${message.replace(/^/gm, '    ')}`);
  }

  /** @param {boolean} hasFailed a step may fail without a test that does */
  printCounts(hasFailed) {
    const failed = hasFailed ? Math.max(this.#failed, 1) : this.#failed;
    const skipped = this.#skipped.length > 0 ? `, ${this.#skipped.length} skipped` : '';
    console.log(`${this.#passed} passed, ${failed} failed${skipped}`);
  }
}
