import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadBinding } from '../../src/engine/load';
import { HOST, PLATFORMS, platformOf } from '../../src/engine/platform';
import { productVersion } from '../../src/system/version';

const packageJson = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as {
  readonly napi: { readonly targets: readonly string[]; readonly packageName: string };
};

const PACKAGE = '@kithdb/engine-linux-x64-musl';

/** What `require` does for a package that is there with a version, and for one that is not. */
function installed(versions: Readonly<Record<string, string>>, loads: (name: string) => unknown) {
  return (name: string): unknown => {
    const [owner, file] = /^(@[^/]+\/[^/]+)(\/package\.json)?$/.exec(name)?.slice(1) ?? [name];
    const version = versions[owner ?? name];
    if (version === undefined) return createRequire(__filename)(name);
    return file === undefined ? loads(name) : { version };
  };
}

function messageOf(load: () => unknown): Error {
  try {
    load();
  } catch (error) {
    return error as Error;
  }
  throw new Error('It loaded.');
}

describe('the engine of a platform', () => {
  let native: string;
  beforeEach(() => {
    native = mkdtempSync(join(tmpdir(), 'kithdb-native-'));
  });
  afterEach(() => {
    rmSync(native, { recursive: true });
  });

  it('is a local build before it is a package', () => {
    writeFileSync(join(native, 'kithdb.linux-x64-musl.node'), '');
    const load = (name: string): unknown => ({ name });
    const local = loadBinding({ native, platform: 'linux-x64-musl', load });
    expect(local).toEqual({ name: join(native, 'kithdb.linux-x64-musl.node') });
    const other = loadBinding({
      native,
      platform: 'linux-x64-gnu',
      load: installed({ '@kithdb/engine-linux-x64-gnu': productVersion() }, load),
    });
    expect(other).toEqual({ name: '@kithdb/engine-linux-x64-gnu' });
  });

  it('is found once: requests use it, and finding it asks for a report of the process', () => {
    const binding = loadBinding();
    const report = jest.spyOn(process.report, 'getReport');
    expect(loadBinding()).toBe(binding);
    expect(report).not.toHaveBeenCalled();
    report.mockRestore();
  });

  it('is the package where a local build does not load', () => {
    writeFileSync(join(native, 'kithdb.linux-x64-musl.node'), 'not an addon');
    const load = installed({ [PACKAGE]: productVersion() }, (name) => ({ name }));
    expect(loadBinding({ native, platform: 'linux-x64-musl', load })).toEqual({ name: PACKAGE });
  });

  it('is named, with the way to it, where it is missing', () => {
    const error = messageOf(() => loadBinding({ native, platform: 'linux-x64-musl' }));
    expect(error.message).toContain('There is no native engine for linux-x64-musl here.');
    // These sources are a clone.
    expect(error.message).toMatch(/npm run build/);
    expect(error.message).toContain(`the package ${PACKAGE} from the tarball or folder`);
    expect((error.cause as AggregateError).errors).toHaveLength(1);
  });

  it('is never one of another version', () => {
    const load = installed({ [PACKAGE]: '9.9.9' }, () => ({}));
    const { message } = messageOf(() => loadBinding({ native, platform: 'linux-x64-musl', load }));
    expect(message).toContain(
      `${PACKAGE}: it has version 9.9.9, and kithdb ${productVersion()} needs its own`,
    );
  });

  it('is refused with the reasons of all that were tried', () => {
    writeFileSync(join(native, 'kithdb.linux-x64-musl.node'), 'not an addon');
    const load = installed({ [PACKAGE]: productVersion() }, () => {
      throw new Error('libc.so: version `GLIBC_2.34` not found\nmore');
    });
    const error = messageOf(() => loadBinding({ native, platform: 'linux-x64-musl', load }));
    expect(error.message).toMatch(/could not be loaded\.\nkithdb\.linux-x64-musl\.node: .+/);
    expect(error.message).toContain(`${PACKAGE}: libc.so: version \`GLIBC_2.34\` not found\n`);
    const { errors } = error.cause as AggregateError;
    expect(errors).toHaveLength(2);
  });

  it('is built from source where there is no package for it', () => {
    const { message } = messageOf(() => loadBinding({ native, platform: 'plan9-mips' }));
    expect(message).toContain('There is no native engine for plan9-mips here.');
    expect(message).toContain(`There are engines for: ${PLATFORMS.join(', ')}.`);
    expect(message).not.toContain('@kithdb/');
  });

  // Nobody holds these names on a registry yet: whoever took one would run code on a user's machine.
  it('is never to be installed by a name that no lock file holds', () => {
    for (const platform of [...PLATFORMS, 'plan9-mips']) {
      const { message } = messageOf(() => loadBinding({ native, platform, load: createRequire(__filename) }));
      expect(message).not.toMatch(/npm (?:i|install|add) @?kithdb/);
    }
  });
});

describe('platforms', () => {
  it('are the targets of package.json', () => {
    const arch = { x86_64: 'x64', aarch64: 'arm64' };
    const named = packageJson.napi.targets.map((target) => {
      const [cpu, , system, abi] = target.split('-') as [keyof typeof arch, string, string, string?];
      const platform = { windows: 'win32' }[system] ?? system;
      return [platform, arch[cpu], ...(abi === undefined ? [] : [abi])].join('-');
    });
    expect(named).toEqual(PLATFORMS);
    expect(packageJson.napi.packageName).toBe('@kithdb/engine');
  });

  it('tell musl from glibc on Linux, and nothing of a C library elsewhere', () => {
    const host = (platform: string, arch: string, musl: boolean) =>
      platformOf({ platform, arch, isMusl: () => musl });
    expect(host('linux', 'arm64', true)).toBe('linux-arm64-musl');
    expect(host('linux', 'arm64', false)).toBe('linux-arm64-gnu');
    expect(host('darwin', 'arm64', true)).toBe('darwin-arm64');
    expect(host('win32', 'x64', true)).toBe('win32-x64-msvc');
    expect(platformOf(HOST)).toMatch(new RegExp(`^${process.platform}-${process.arch}`));
  });
});
