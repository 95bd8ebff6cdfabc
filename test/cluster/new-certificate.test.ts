/** A certificate that is replaced while a node is joining. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import pino from 'pino';
import { openClusterEngine } from '../../src/cluster/open';
import { openNativeEngine } from '../../src/engine';
import { executeJson } from '../../src/engine/json-call';
import type { Engine, EngineRequest } from '../../src/engine/types';
import { describeUnless } from '../missing';
import { Authority } from './certificates';
import { isNoNats, NatsServers } from './nats-server';

let folder: string;
let servers: NatsServers;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-certificate-'));
  servers = await NatsServers.start(1);
});
afterEach(async () => {
  await servers.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The serial number of the certificate that a server shows. */
function serialOf(port: number, tls: { cert: string; key: string; ca: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const { cert, key, ca } = tls;
    const socket = connect({ host: '127.0.0.1', port, cert, key, ca, checkServerIdentity: () => undefined });
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

/** An engine that calls back before it links the files of a collection, which a node does that brings it along. */
function engineWith(options: Parameters<typeof openNativeEngine>[0], before: () => void): Engine {
  const engine = openNativeEngine(options);
  return new Proxy(engine, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      if (name !== 'execute') return value.bind(target) as unknown;
      return (request: EngineRequest) => {
        if (request.operation === 'link_snapshot') before();
        return target.execute(request);
      };
    },
  });
}

describeUnless(isNoNats)('a node whose certificate is replaced while it is joining', () => {
  it('has the new one', async () => {
    const dataDir = join(folder, 'node');
    const single = openNativeEngine({ dataDir, searchThreads: 1 });
    await single.open();
    const create = { operation: 'create_collection', collection: 'birds' } as const;
    await executeJson(single, create, { vectors: { size: 2, distance: 'Dot' } });
    await single.close();

    const authority = new Authority(folder, 'authority');
    const [first, second] = [authority.sign('test', '/CN=test'), authority.sign('test', '/CN=test')];
    const engine = await openClusterEngine(
      { dataDir, searchThreads: 1 },
      {
        ...{ cluster: 'test', dataDir, groups: 1, logReplicas: 1, security: first },
        nats: { servers: servers.addresses },
        listen: { host: '127.0.0.1', port: 0 },
        checkpoints: { everyRecords: 100_000, everyMs: 3_600_000, minAgeMs: 86_400_000 },
      },
      pino({ level: 'silent' }),
      (options) =>
        engineWith(options, () => {
          engine.useCertificate(second);
        }),
    );
    try {
      await engine.open();
      const address = engine.clusterReport()?.peers[0]?.address ?? '';
      const port = Number(address.split(':')[1]);
      const shown = await serialOf(port, first);
      expect(shown).toBe(new X509Certificate(second.cert).serialNumber);
    } finally {
      await engine.close();
    }
  });
});
