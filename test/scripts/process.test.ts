import { inScript } from '../docs/script';

describe('a tool of a build', () => {
  it('that is not there is an error that names it', () => {
    const found = inScript(
      'scripts/build/process.mjs',
      "await script.mustRun('test-absent', '/absent/tool', []).catch((error) => error.message)",
    );
    expect(found).toBe('test-absent: /absent/tool was not found.');
  });

  it('that fails says what it said last', () => {
    const found = inScript(
      'scripts/build/process.mjs',
      "await script.mustRun('test-failing', process.execPath, ['-e', 'console.log(34); process.exit(3)']).catch((error) => error.message)",
    );
    expect(found).toBe('test-failing failed (exit code 3).\n34');
  });
});
