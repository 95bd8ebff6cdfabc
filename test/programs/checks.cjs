/** What the programs of this folder share: embeddings that need no model, and a record of what was checked. */
const { deepStrictEqual } = require('node:assert');

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/** How often each letter occurs: texts of the same letters are near. */
function letters(text) {
  return [...LETTERS].map((letter) => text.toLowerCase().split(letter).length - 1);
}

/** What LangChain expects of a model. */
const embeddings = {
  embedQuery: async (text) => letters(text),
  embedDocuments: async (texts) => texts.map(letters),
};

/** What was checked, and which of it was wrong. */
class Checks {
  steps = 0;
  failures = [];

  /** One call of the program. One that fails does not end the others. */
  async equal(what, call, expected) {
    this.steps += 1;
    try {
      const found = await call();
      try {
        deepStrictEqual(found, expected);
      } catch {
        this.failures.push(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
      }
    } catch (error) {
      const cause = error.cause === undefined ? '' : ` (${error.cause})`;
      this.failures.push(`${what}: ${error}${cause} ${JSON.stringify(error.data ?? '')}`);
    }
  }

  /** One call whose answer says nothing. */
  async done(what, call) {
    await this.equal(what, async () => void (await call()), undefined);
  }

  /** Prints one JSON object: how many things were checked, and which of them were wrong. */
  report() {
    process.stdout.write(`${JSON.stringify({ steps: this.steps, failures: this.failures })}\n`);
  }
}

module.exports = { Checks, embeddings, letters };
