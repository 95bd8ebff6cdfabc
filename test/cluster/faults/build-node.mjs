/** Joins the program of a node into one file, whose path is the argument: a node is started hundreds of times. */
import { rolldown } from 'rolldown';
import { fileURLToPath } from 'node:url';

const [, , file] = process.argv;
const bundled = await rolldown({
  input: fileURLToPath(new URL('node-server.ts', import.meta.url)),
  platform: 'node',
  // Packages stay where they are.
  external: /^[^./]/,
});
await bundled.write({ file, format: 'cjs', codeSplitting: false });
await bundled.close();
