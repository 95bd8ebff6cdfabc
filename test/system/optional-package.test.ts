import { wayToInstall } from '../../src/system/optional-package';

const PACKED = { version: '1.2.3' };
const RELEASE = { ...PACKED, optionalDependencies: { '@kithdb/engine-linux-x64-gnu': '1.2.3' } };

test('an optional package is installed from where kithdb came from, with its version', () => {
  expect(wayToInstall('@kithdb/mcp', RELEASE, false)).toMatch(/^npm install @kithdb\/mcp@1\.2\.3 beside/);
  expect(wayToInstall('@kithdb/cluster', RELEASE, false)).toMatch(
    /^npm install @kithdb\/cluster@1\.2\.3 beside/,
  );
  expect(wayToInstall('@kithdb/models', RELEASE, false)).toMatch(
    /^npm install --ignore-scripts @kithdb\/models@1\.2\.3 beside/,
  );
  for (const [manifest, isSourceTree] of [
    [PACKED, false],
    [PACKED, true],
    [RELEASE, true],
  ] as const) {
    const way = wayToInstall('@kithdb/mcp', manifest, isSourceTree);
    expect(way).toMatch(/^npm run pack in a clone .* npm install \.\/kithdb-mcp-1\.2\.3\.tgz beside/);
    expect(way).not.toContain('@kithdb');
  }
});
