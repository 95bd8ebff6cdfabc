/**
 * The suite `image`: the steps of the Dockerfile run in a Debian made by debootstrap, and the result serves as the
 * container would: as its user, on a read-only root.
 */
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { UNBUNDLED } from '../../build/bundle.mjs';
import { BuildError, output } from '../../build/process.mjs';
import { root } from '../../build/tree.mjs';
import { buildImage } from './build.mjs';
import { mustIn, NoMirror, removeContainers, startIn, whyNoChroot } from './chroot.mjs';
import { firstQueries } from '../../package/installation.mjs';

/** Limit of the bytes of the whole image, packed by gzip. */
const MAX_PACKED_BYTES = 120 * 1000 * 1000;
const READY_MS = 120_000;
const FOREIGN = ['npm', 'npx', 'gcc', 'cc', 'cargo', 'rustc', 'make', 'python3'];

/** @returns {Promise<string | {skipped: string}>} a line on what was found, or why it cannot be found here */
export async function checkImage() {
  const missing = await whyNoChroot();
  if (missing !== undefined) return { skipped: missing };
  try {
    const stage = await buildImage();
    requireNothingForeign(stage.folder);
    const bytes = await packedBytes(stage.folder);
    await serveAsContainer(stage);
    return `serves as ${stage.last.USER} on a read-only root; ${(bytes / 1e6).toFixed(1)} MB packed`;
  } catch (error) {
    if (error instanceof NoMirror) return { skipped: error.message };
    throw error;
  } finally {
    removeContainers();
  }
}

function requireNothingForeign(folder) {
  for (const place of ['usr/bin', 'usr/local/bin', 'app/node_modules/.bin']) {
    const names = existsSync(join(folder, place)) ? readdirSync(join(folder, place)) : [];
    const found = names.filter((name) => FOREIGN.includes(name));
    if (found.length > 0) throw new BuildError(`The image has ${found.join(', ')} in /${place}.`);
  }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const bundled = Object.keys(dependencies).filter((name) => !UNBUNDLED.includes(name));
  const twice = bundled.filter((name) => existsSync(join(folder, 'app/node_modules', name)));
  if (twice.length > 0) throw new BuildError(`The image has ${twice.join(', ')}, which are in dist/.`);
}

async function packedBytes(folder) {
  const script = `tar -C '${folder}' -c . | gzip -6 | wc -c`;
  const bytes = Number(await output('sh', ['-c', script]));
  if (!(bytes > 0 && bytes <= MAX_PACKED_BYTES))
    throw new BuildError(`The image has ${bytes} bytes packed, limit ${MAX_PACKED_BYTES}.`);
  return bytes;
}

async function serveAsContainer({ folder, env, cwd, last }) {
  const data = `${folder}-data`;
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { mode: 0o700 });
  chownSync(data, ...last.USER.split(':').map(Number));
  const inside = {
    env: { ...env, KITHDB_PORT: '0', KITHDB_HOST: '127.0.0.1' },
    cwd,
    user: last.USER,
    isReadOnly: true,
    mounts: [[data, last.VOLUME]],
  };
  const words = [...JSON.parse(last.ENTRYPOINT), ...JSON.parse(last.CMD)];
  const server = startIn(folder, words.map((word) => `'${word}'`).join(' '), inside);
  const exited = new Promise((resolve) => server.once('close', resolve));
  try {
    const { url, password } = await started(server);
    const [health] = JSON.parse(/CMD (\[.*\])$/.exec(last.HEALTHCHECK)[1]);
    await mustIn('image-health', folder, health, inside);
    await requireAuthentication(url, password);
  } finally {
    server.kill(last.STOPSIGNAL);
  }
  const code = await exited;
  rmSync(data, { recursive: true, force: true });
  if (code !== 0) throw new BuildError(`The container stopped with exit code ${code}.`);
}

/** The address of the server when it is ready, and the password that its first start printed. */
function started(server) {
  return new Promise((resolve, reject) => {
    let text = '';
    const late = setTimeout(
      () => reject(new BuildError(`The container was not ready in time:\n${text}`)),
      READY_MS,
    );
    const read = (piece) => {
      text += piece;
      const url = / ready on (\S+) in /.exec(text)?.[1];
      const password = /shown only this once:\n\n +(\S+)\n/.exec(text)?.[1];
      if (url !== undefined && password !== undefined) {
        clearTimeout(late);
        resolve({ url, password });
      }
    };
    for (const stream of [server.stdout, server.stderr]) stream.setEncoding('utf8').on('data', read);
    server.once('close', (code) => reject(new BuildError(`The container ended with ${code}:\n${text}`)));
  });
}

/** Nobody gets in without the password; with it a token is made that answers the first queries. */
async function requireAuthentication(url, password) {
  const call = (path, body, token) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
  const refused = await call('/collections/x/points/search', {});
  if (refused.status !== 401)
    throw new BuildError(`Without a credential the container answered ${refused.status}.`);
  const { token: jwt } = await (await call('/auth/admin/login', { password })).json();
  const { token } = await (
    await call('/auth/access_token', { name: 'image', permission: 'read,write' }, jwt)
  ).json();
  await firstQueries(url, token);
}
