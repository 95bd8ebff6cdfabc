import { loadConfig, readFlags } from '../../src/config';
import { loopsOf, type Machine } from '../../src/event-loops/how-many';

const GIB = 1024 ** 3;
const DEFAULT = { eventLoops: undefined, memoryLimit: undefined };

function machine(cores: number, gib: number, platform: NodeJS.Platform = 'linux'): Machine {
  return { cores, memoryBytes: gib * GIB, platform };
}

it('a node of a cluster has one event loop, whatever its machine has', () => {
  const cluster = loadConfig({
    commandLine: readFlags(['--cluster', 'nats://log:4222']),
    env: {},
    terminal: false,
  });
  expect(loopsOf(cluster, machine(64, 512))).toBe(1);
});

describe('C11.6 the number of event loops', () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
    [8, 2],
    [16, 4],
    [64, 16],
    [1000, 64],
  ])('on %d cores is %d', (cores, loops) => {
    expect(loopsOf(DEFAULT, machine(cores, 512))).toBe(loops);
  });

  it('is not more than the memory of the machine, or its limit, has room for', () => {
    expect(loopsOf(DEFAULT, machine(64, 3))).toBe(3);
    expect(loopsOf(DEFAULT, machine(64, 0.25))).toBe(1);
    expect(loopsOf({ ...DEFAULT, memoryLimit: 2 * GIB }, machine(64, 512))).toBe(2);
    expect(loopsOf({ ...DEFAULT, memoryLimit: 2 * GIB }, machine(64, 1))).toBe(1);
  });

  it('is one where sockets do not share connections, and what the setting says everywhere', () => {
    expect(loopsOf(DEFAULT, machine(64, 512, 'darwin'))).toBe(1);
    expect(loopsOf(DEFAULT, machine(64, 512, 'win32'))).toBe(1);
    expect(loopsOf({ ...DEFAULT, eventLoops: 3 }, machine(1, 0.25, 'darwin'))).toBe(3);
  });
});
