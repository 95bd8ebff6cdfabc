/** The platforms that there are engine packages for: the targets of `package.json`, as napi names them. */
export const PLATFORMS: readonly string[] = [
  'linux-x64-gnu',
  'linux-arm64-gnu',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-arm64',
  'darwin-x64',
  'win32-x64-msvc',
];

/** What decides which engine loads. */
export interface Host {
  readonly platform: string;
  readonly arch: string;
  /** Whether the C library of Linux is musl. */
  readonly isMusl: () => boolean;
}

/** The process that this is. */
export const HOST: Host = { platform: process.platform, arch: process.arch, isMusl };

/** The name of a host's platform: `linux-x64-musl`. */
export function platformOf({ platform, arch, isMusl }: Host): string {
  const name = `${platform}-${arch}`;
  if (platform === 'linux') return `${name}-${isMusl() ? 'musl' : 'gnu'}`;
  return platform === 'win32' ? `${name}-msvc` : name;
}

/** The package that holds the engine of a platform. */
export function enginePackage(platform: string): string {
  return `@kithdb/engine-${platform}`;
}

/** Node's report names the version of glibc that the process runs on, and none on musl. */
function isMusl(): boolean {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  const before = report.excludeNetwork;
  // Without this it looks up the names of all connected hosts.
  report.excludeNetwork = true;
  try {
    const { header } = report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
    return header.glibcVersionRuntime === undefined;
  } finally {
    report.excludeNetwork = before ?? false;
  }
}
