'use strict';

// Lets a process that a test starts require TypeScript files as they are.
const { transformFileSync } = require('@swc/core');

require.extensions['.ts'] = (module, path) => {
  const { code } = transformFileSync(path, {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'commonjs' },
  });
  module._compile(code, path);
};
