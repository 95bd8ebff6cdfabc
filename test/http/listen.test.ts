import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { shareListening } from '../../src/event-loops/listening';
import { drain, trackConnections } from '../../src/http/drain';
import { listenOn, SOCKETS_PER_LOOP } from '../../src/http/listen';

const CONNECTIONS = 64;
const onLinux = process.platform === 'linux' ? it : it.skip;

describe('a burst of connections', () => {
  onLinux('is accepted several at a time, and a stop waits for each of them', async () => {
    let arrived = 0;
    const server = createServer((request, response) => {
      arrived += 1;
      request.resume();
      setTimeout(() => response.end('done'), 50);
    });
    trackConnections(server);
    const [own = []] = (await shareListening(0, '127.0.0.1', 1)) ?? [];
    expect(own).toHaveLength(SOCKETS_PER_LOOP);
    const port = await listenOn(server, own);
    let accepted = 0;
    let most = 0;
    let counted = 0;
    server.on('connection', () => (accepted += 1));
    // The system completes these without the server.
    const clients = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
    const answers = clients.map(answerOf);
    while (accepted < CONNECTIONS) {
      await nextIteration();
      most = Math.max(most, accepted - counted);
      counted = accepted;
    }
    expect(most).toBeGreaterThan(1);
    for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    // Those of every socket are answered before the server ends.
    while (arrived < CONNECTIONS) await nextIteration();
    const giveUp = jest.fn();
    expect(await drain(server, { graceMs: 5000, answerMs: 100, giveUp })).toBe(true);
    expect(giveUp).not.toHaveBeenCalled();
    expect((await Promise.all(answers)).filter((answer) => /200 OK[^]*done/.test(answer))).toHaveLength(
      CONNECTIONS,
    );
    await expect(answerOf(connect(port, '127.0.0.1'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

/** All that a connection gets until it ends. */
function answerOf(client: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    client.on('data', (bytes) => (text += bytes.toString('latin1')));
    client.on('error', reject);
    client.on('close', () => {
      resolve(text);
    });
  });
}
