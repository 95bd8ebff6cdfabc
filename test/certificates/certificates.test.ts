import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeClusterFiles } from '../../src/certificates/cluster-files';
import { identifier, integer, time } from '../../src/certificates/der';
import { runCommand } from '../cli/run-command';

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'kithdb-certificates-')), 'made');
});
afterEach(() => {
  rmSync(join(folder, '..'), { recursive: true, force: true });
});

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

describe('certificates of a cluster', () => {
  it('are signed by an authority of its own, for servers and clients of its name', async () => {
    await makeClusterFiles(folder, 'birds', 2);
    const ca = new X509Certificate(read('ca.pem'));
    expect(ca.ca).toBe(true);
    expect(ca.verify(ca.publicKey)).toBe(true);
    for (const node of ['node-1', 'node-2']) {
      const certificate = new X509Certificate(read(`${node}.pem`));
      expect(certificate.subject).toBe('CN=birds');
      expect(certificate.subjectAltName).toBe('DNS:birds');
      expect(certificate.ca).toBe(false);
      expect(certificate.checkIssued(ca)).toBe(true);
      expect(certificate.verify(ca.publicKey)).toBe(true);
      expect(certificate.checkPrivateKey(createPrivateKey(read(`${node}.key`)))).toBe(true);
      expect(statSync(join(folder, `${node}.key`)).mode & 0o777).toBe(0o600);
    }
  });

  it('are accepted in both directions of a handshake', async () => {
    await makeClusterFiles(folder, 'birds', 2);
    const options = (node: string) => ({
      ...{ cert: read(`${node}.pem`), key: read(`${node}.key`), ca: read('ca.pem') },
      ...{ requestCert: true, rejectUnauthorized: true },
    });
    const server = createServer(options('node-1'), (socket) => {
      socket.end(String(socket.authorized));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = connect({ ...options('node-2'), host: '127.0.0.1', port, servername: 'birds' });
    const said = await new Promise<string>((resolve, reject) => {
      client.once('data', (data: Buffer) => {
        resolve(data.toString());
      });
      client.once('error', reject);
    });
    expect([said, client.authorized]).toEqual(['true', true]);
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('stay where they are there, and more are signed by the same authority', async () => {
    const first = await makeClusterFiles(folder, 'birds', 1);
    const { kept, made } = await makeClusterFiles(folder, 'birds', 2);
    expect(kept).toEqual(first.made);
    expect(made).toEqual([join(folder, 'node-2.pem'), join(folder, 'node-2.key')]);
    rmSync(join(folder, 'ca.key'));
    await expect(makeClusterFiles(folder, 'birds', 3)).rejects.toThrow(/ca\.pem is there and the other file/);
  });

  it.each([0, 1, 2, 3])('are whole after a disk was full at file %i of the first run', async (at) => {
    const file = await open('/dev/null');
    const handles = Object.getPrototypeOf(file) as FileHandle;
    await file.close();
    let written = 0;
    const full = jest.spyOn(handles, 'writeFile').mockImplementation(async function (this: FileHandle, text) {
      written += 1;
      if (written === at + 1) throw new Error('no space left on device');
      await this.write(text as string);
    });
    try {
      await expect(makeClusterFiles(folder, 'birds', 1)).rejects.toThrow('no space left');
    } finally {
      full.mockRestore();
    }
    const { made } = await makeClusterFiles(folder, 'birds', 1);
    expect(made).toHaveLength(at < 2 ? 4 : 2);
    const [ca, node] = [new X509Certificate(read('ca.pem')), new X509Certificate(read('node-1.pem'))];
    expect(ca.checkPrivateKey(createPrivateKey(read('ca.key')))).toBe(true);
    expect(node.checkPrivateKey(createPrivateKey(read('node-1.key')))).toBe(true);
    expect(node.verify(ca.publicKey)).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(['ca.key', 'ca.pem', 'node-1.key', 'node-1.pem']);
  });

  it('are made by kithdb cluster certificates', async () => {
    const made = await runCommand(['cluster', 'certificates', '--to', folder, '--nodes', '1'], {});
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining('node-1.pem') });
    expect(new X509Certificate(read('node-1.pem')).subject).toBe('CN=kithdb');
    const refused = await runCommand(['cluster', 'certificates', '--to', folder, '--nodes', '0'], {});
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--nodes must be') });
  });
});

it('DER encodes what the standard has as examples', () => {
  expect(identifier('1.2.840.113549')).toEqual(Buffer.from('06062a864886f70d', 'hex'));
  expect(integer(Buffer.of(0x80))).toEqual(Buffer.from('02020080', 'hex'));
  expect(time(new Date('1991-05-06T23:45:40Z')).toString('latin1').slice(2)).toBe('910506234540Z');
  expect(time(new Date('2051-05-06T23:45:40Z')).toString('latin1').slice(2)).toBe('20510506234540Z');
});
