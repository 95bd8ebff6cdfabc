'use strict';

// Where jest runs the tests of mutants: it notes which tests reach which mutants, and stops a file at its first failure.
const { mkdirSync, writeFileSync } = require('node:fs');
const { join, relative } = require('node:path');
const { TestEnvironment } = require('jest-environment-node');

/** The object in which Stryker's switches count; the tests' global has it. */
const COUNTERS = '__stryker__';

module.exports = class MutantEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.name = relative(config.projectConfig.rootDir, context.testPath).replaceAll(/[\\/]/g, '~');
    this.hasFailed = false;
    this.folder = process.env.MUTANTS_REACHED;
    this.global[COUNTERS] ??= {};
  }

  handleTestEvent(event) {
    switch (event.name) {
      case 'test_start':
        if (this.hasFailed) event.test.mode = 'skip';
        this.global[COUNTERS].currentTestId = fullName(event.test);
        break;
      case 'test_done':
        this.global[COUNTERS].currentTestId = undefined;
        break;
      case 'test_fn_failure':
      case 'hook_failure':
        if (!this.hasFailed)
          this.tell(event.test === undefined ? 'a hook of the file' : fullName(event.test));
        break;
    }
  }

  /** Whoever runs jest reads this, and does not wait for hooks that a mutant may have made endless. */
  tell(test) {
    this.hasFailed = true;
    process.stderr.write(`\nFAILED ${this.name.replaceAll('~', '/')}: ${test}\n`);
  }

  async teardown() {
    if (this.folder !== undefined) {
      mkdirSync(this.folder, { recursive: true });
      const reached = this.global[COUNTERS].mutantCoverage ?? { static: {}, perTest: {} };
      writeFileSync(join(this.folder, `${this.name}.json`), JSON.stringify(reached));
    }
    await super.teardown();
  }
};

function fullName(test) {
  const names = [];
  for (let block = test; block.parent; block = block.parent) names.unshift(block.name);
  return names.join(' ');
}
