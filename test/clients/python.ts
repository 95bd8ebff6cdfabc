import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Made by the `python` step of `npm test`, which says so where there is no Python. */
export const python = join(__dirname, '..', '..', '.build', 'venv', 'bin', 'python');

/** A test that skips itself where there is no Python. */
export const whenThereIsPython = existsSync(python) ? test : test.skip;
