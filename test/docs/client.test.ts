import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');

describe('docs/client.md', () => {
  const page = readFileSync(join(root, 'docs', 'client.md'), 'utf8');

  it('names the settings that are in force', () => {
    const numbers = (path: string, pattern: RegExp): number =>
      Number(pattern.exec(readFileSync(join(root, 'src', 'client', path), 'utf8'))?.[1]?.replaceAll('_', ''));
    expect(page).toContain(`${numbers('batches.ts', /maxPoints: ([\d_]+),/).toLocaleString('en')} points`);
    expect(page).toContain(
      `${numbers('client.ts', /TIMEOUT_MS = ([\d_]+)/).toLocaleString('en')} when absent`,
    );
    expect(page).toContain(`(${numbers('http-transport.ts', /MAX_CONNECTIONS = ([\d_]+)/)})`);
    expect(page).toContain(`${numbers('retries.ts', /firstPauseMs: ([\d_]+)/)} ms`);
    expect(page).toContain(
      `up to ${numbers('retries.ts', /LONGEST_RETRY_AFTER_SECONDS = ([\d_]+)/)} seconds`,
    );
  });
});
