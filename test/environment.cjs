'use strict';

// Where jest runs tests: as in `node`, with what all test files of a worker can share because none of them changes it.
const { TestEnvironment } = require('jest-environment-node');

module.exports = class Environment extends TestEnvironment {
  async setup() {
    await super.setup();
    this.global.descriptionOfWorker = descriptionOfWorker;
  }
};

/** The description of the HTTP interface: compiling its schemas takes longer than most test files. */
function descriptionOfWorker() {
  require('./require-typescript.cjs');
  return require('./openapi/description.ts').description();
}
