/**
 * The built server, with a garbage collector that its parent calls: `full` collects everything, `young` the young generation
 * alone, twice. The answer is what the heap holds then, in bytes.
 */
process.on('message', (which) => {
  if (which === 'full') globalThis.gc();
  else for (let time = 0; time < 2; time += 1) globalThis.gc({ type: 'minor' });
  process.send(process.memoryUsage().heapUsed);
});
require('../../dist/main.js').main(process.argv.slice(2));
