/**
 * `node --require stand-ins.cjs`: a package that a program loads beside the ones that its Qdrant integration calls, and
 * that is not installed, becomes an object that can be passed on and extended, and fails as soon as it is called.
 */
const Module = require('node:module');

function standIn(name) {
  const refuse = () => {
    throw new Error(`${name} is not installed for this test`);
  };
  const traps = {
    get: (target, key) => {
      if (key === '__esModule') return true;
      if (key === 'prototype' || typeof key === 'symbol') return target[key];
      return standIn(`${name}.${String(key)}`);
    },
    apply: refuse,
    construct: refuse,
  };
  return new Proxy(class {}, traps);
}

const load = Module._load;
Module._load = function loadOrStandIn(request, ...rest) {
  try {
    return load.call(this, request, ...rest);
  } catch (error) {
    const isPackage = !request.startsWith('.') && !request.startsWith('/');
    if (isPackage && error.code === 'MODULE_NOT_FOUND') return standIn(request);
    throw error;
  }
};
