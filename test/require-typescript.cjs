'use strict';

// Lets a process that a test starts require TypeScript files as they are.
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');
const { withFault } = require('./faults/typescript.cjs');

require.extensions['.ts'] = (module, path) => {
  const { code } = transformSync(withFault(readFileSync(path, 'utf8'), path), {
    filename: path,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'commonjs' },
  });
  module._compile(code, path);
};
