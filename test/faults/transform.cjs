'use strict';

// Strips types with swc, and plants the fault of a run into the source that it is about.
const { createTransformer } = require('@swc/jest');
const { withFault } = require('./typescript.cjs');

module.exports = {
  createTransformer(options) {
    const swc = createTransformer(options);
    const { process, getCacheKey } = swc;
    return {
      ...swc,
      process: (source, path, run) => process.call(swc, withFault(source, path), path, run),
      // Of the changed source, so that no run gets the fault of another from the cache.
      getCacheKey: (source, path, run) => getCacheKey.call(swc, withFault(source, path), path, run),
    };
  },
};
