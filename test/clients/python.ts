import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { itUnless } from '../missing';

/** Made by the `python` step of `npm test`, which says so where there is no Python. */
export const python = join(__dirname, '..', '..', '.build', 'venv', 'bin', 'python');

export const whenThereIsPython = itUnless(
  existsSync(python) ? undefined : 'no Python environment (step python)',
);
