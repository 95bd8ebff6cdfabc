const swc = {
  jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
};

/**
 * Types are checked by `tsc --noEmit`, so swc only strips them here. Loading modules dominates the run
 * time: few, larger test files are faster than many small ones.
 *
 * @type {import('jest').Config}
 */
module.exports = {
  roots: ['<rootDir>/test'],
  testEnvironment: '<rootDir>/test/environment.cjs',
  testMatch: ['**/*.test.ts'],
  maxWorkers: 3,
  testSequencer: '<rootDir>/test/sequencer.cjs',
  // A busy machine is no reason to fail: what hangs is found just as well a little later.
  testTimeout: 120_000,
  // TypeScript sources name their imports with `.js` where they need a suffix at all.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // ES modules, which jest cannot load as they are on Node 20.
  transformIgnorePatterns: ['/node_modules/(?!hyparquet|modern-tar)'],
  transform: {
    '^.+\\.ts$': ['<rootDir>/test/faults/transform.cjs', swc],
    '/(?:hyparquet|modern-tar).*\\.js$': ['@swc/jest', swc],
  },
};
