'use strict';

// A process that opens a folder and does what its parent says: node member-process.cjs FOLDER OPTIONS. Each line of the parent is
// {call, what, ...} in JSON; each is answered by {call, result} or {call, error}.
const { existsSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
require('../require-typescript.cjs');

const { openFolder } = require(join(__dirname, '..', '..', 'src', 'embedded', 'open.ts'));

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Writes points of its own, one a call, until it is told to stop; says when each was acknowledged. */
class Writer {
  stopped = false;
  acknowledged = 0;
  slowestMs = 0;
  failures = [];

  constructor(transport, { collection, first, pauseMs }) {
    Object.assign(this, { transport, collection, next: first, pauseMs });
  }

  async run() {
    while (!this.stopped) {
      await this.writeOne();
      if (this.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
    }
  }

  async writeOne() {
    const id = this.next;
    // The count of operations says whether one was applied twice, and the payload whether it is the right one.
    const body = { points: [{ id, vector: [id, 1], payload: { by: process.pid } }] };
    const startedAt = performance.now();
    try {
      await this.transport.execute({ operation: 'upsert_points', collection: this.collection, body });
      this.acknowledged += 1;
      say({ acknowledged: id });
      this.next += 1;
    } catch (error) {
      this.failures.push(`${error.name} ${error.status}: ${error.message}`);
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - startedAt);
  }
}

async function main([folder, options]) {
  const transport = await openFolder(folder, JSON.parse(options));
  let writer;
  const commands = {
    execute: async ({ request }) => (await transport.execute(request)).result,
    role: async () => transport.role(),
    write: async (message) => {
      writer = new Writer(transport, message);
      writer.running = writer.run();
    },
    stop: async () => {
      writer.stopped = true;
      await writer.running;
      const { acknowledged, slowestMs, failures } = writer;
      return { acknowledged, slowestMs, failures };
    },
    close: async () => {
      await transport.close();
      process.stdin.destroy();
    },
    block: async ({ begun, released }) => {
      writeFileSync(begun, '');
      // The event loop of this process does nothing meanwhile. A parent that is gone releases nothing.
      const nothing = new Int32Array(new SharedArrayBuffer(4));
      for (let turn = 0; turn < 6000; turn += 1) {
        if (existsSync(released)) return 'released';
        Atomics.wait(nothing, 0, 0, 10);
      }
      return 'late';
    },
  };
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line);
    commands[message.what](message).then(
      (result) => {
        say({ call: message.call, result });
      },
      ({ name, status, message: text }) => {
        say({ call: message.call, error: { name, status, message: text } });
      },
    );
  });
  say({ opened: true });
}

main(process.argv.slice(2)).catch((error) => {
  say({ failed: error.message });
  process.stdin.destroy();
});
