import { cut, printable, tableOf } from '../../src/cli/table';

describe('a table on a terminal', () => {
  it('has its columns side by side, those of wide characters too', () => {
    const rows = [
      ['A', 'B'],
      ['日本', 'x'],
      ['é', 'y'],
      ['e\u0301', 'z'],
    ];
    expect(tableOf(rows)).toBe('A     B\n日本  x\né     y\ne\u0301     z\n');
  });

  it('is cut to a width in its last column', () => {
    expect(tableOf([['id', 'x'.repeat(50)]], 24)).toBe(`id  ${'x'.repeat(19)}…\n`);
    expect(cut('日本語', 5)).toBe('日本…');
    expect(cut('short', 5)).toBe('short');
  });

  it('escapes what would move the cursor, change colours or turn the direction of text', () => {
    expect(printable('a\u001b[2Jb\u009bc\u202ed\r\n')).toBe('a\\u001b[2Jb\\u009bc\\u202ed\\u000d\\u000a');
    expect(printable('日本 é 🙂')).toBe('日本 é 🙂');
  });
});
