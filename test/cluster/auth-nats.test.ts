import { openAuthReplication } from '../../src/cluster';
import { join } from 'node:path';
import pino from 'pino';
import { describeUnless } from '../missing';
import { PASSWORD } from '../operations/guarded';
import { until } from '../until';
import { AuthNodes, type AuthNode } from './auth-nodes';
import { isNoNats, NatsServers } from './nats-server';

describeUnless(isNoNats)('two servers over a log server', () => {
  let servers: NatsServers;
  let nodes: AuthNodes;
  let a: AuthNode;
  let b: AuthNode;
  let jwt: string;
  beforeAll(async () => {
    servers = await NatsServers.start(1);
    nodes = new AuthNodes();
    const settings = { cluster: 'test', groups: 1, logReplicas: 1, nats: { servers: servers.addresses } };
    const node = (name: string): AuthNode =>
      nodes.node(
        openAuthReplication(
          { ...settings, dataDir: join(nodes.folder, name) },
          new AbortController().signal,
          pino({ level: 'silent' }),
        ),
      );
    [a, b] = [node('node-0'), node('node-1')];
    const env = { KITHDB_ADMIN_PASSWORD: PASSWORD, KITHDB_AUTH_ENABLED: 'true' };
    await Promise.all([a.start(env), b.start(env)]);
    jwt = await a.login();
  });
  afterAll(async () => {
    await nodes.end();
    await servers.stop();
  });

  it('have the same admin, secret and tokens', async () => {
    await until(async () => (await b.read(jwt)) === 200);
    const { id, token } = await a.token(jwt);
    expect([await a.read(token), await b.read(token), await b.read()]).toEqual([200, 200, 401]);
    await b.ask('DELETE', `/auth/access_token/${id}`, undefined, jwt);
    await until(async () => (await a.read(token)) === 401);
  });

  it('answer reads while the log server is away, and take changes when it is back', async () => {
    const { token } = await a.token(jwt);
    expect(await b.read(token)).toBe(200);
    const [server] = servers.servers;
    await server!.kill();
    expect([await a.read(token), await b.read(token)]).toEqual([200, 200]);
    // A change waits for the log.
    const changed = b.token(jwt, 'later');
    server!.start();
    await server!.untilListening();
    const later = await changed;
    expect(await a.read(later.token)).toBe(200);
  });

  it('refuse at a start what was revoked meanwhile', async () => {
    const revoked = await a.token(jwt);
    expect(await b.read(revoked.token)).toBe(200);
    await b.stop();
    await a.ask('DELETE', `/auth/access_token/${revoked.id}`, undefined, jwt);
    await b.start();
    expect([await b.read(revoked.token), await b.read(jwt)]).toEqual([401, 200]);
  });
});
