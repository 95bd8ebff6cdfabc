import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Missing } from './missing';
import { until } from './until';

/** The credentials of the server, as the client of S3 reads them. */
export const S3_ENV = { AWS_ACCESS_KEY_ID: 'tester', AWS_SECRET_ACCESS_KEY: 'secret-of-the-tester' };

/** A server with the S3 interface: `go install github.com/versity/versitygw/cmd/versitygw@latest`. */
const GATEWAY = gatewayPath();

function gatewayPath(): string {
  const named = process.env['KITHDB_VERSITYGW'] ?? process.env['KITHDB_TEST_S3_GATEWAY'];
  // Where the suite `deployment` builds it.
  const built = join(__dirname, '..', '.build', 'bin', 'versitygw');
  return named ?? (existsSync(built) ? built : 'versitygw');
}

export function whyNoGateway(): Missing {
  const { error } = spawnSync(GATEWAY, ['--version']);
  return error === undefined ? undefined : 'there is no versitygw';
}

const processes: ChildProcess[] = [];

/** Starts it over the folder `buckets` below a folder, which has one bucket, `my-bucket`; gives its address. */
export async function startGateway(folder: string): Promise<string> {
  const buckets = join(folder, 'buckets');
  mkdirSync(join(buckets, 'my-bucket'), { recursive: true });
  mkdirSync(join(folder, 'sidecar'));
  const free = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => free.once('listening', resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const credentials = ['--access', S3_ENV.AWS_ACCESS_KEY_ID, '--secret', S3_ENV.AWS_SECRET_ACCESS_KEY];
  const place = ['--port', `127.0.0.1:${port}`, 'posix', '--sidecar', join(folder, 'sidecar'), buckets];
  processes.push(spawn(GATEWAY, [...credentials, ...place], { stdio: 'ignore' }));
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> =>
    fetch(url).then(
      () => true,
      () => false,
    );
  await until(answers, 50);
  return url;
}

/** Ends all that were started. */
export function stopGateways(): void {
  processes.splice(0).forEach((child) => child.kill());
}
