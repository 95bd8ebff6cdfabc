/** A folder and a shell of its own in which the snippets of a page run, as a reader would run them in a clone. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { python } from '../clients/python';

const root = join(__dirname, '..', '..');

/** Packages that pages install, and scopes of such. */
const PACKAGES = ['@langchain', '@opentelemetry', '@qdrant', 'apache-arrow'];

/** A snippet that prints nothing for so long hangs. */
const TIMEOUT_MS = 240_000;

export class Shell {
  private readonly bash: ChildProcessByStdio<Writable, Readable, Readable>;
  private printed = '';
  private failed = '';
  /** Whether the shell is gone: a command failed. */
  hasEnded = false;
  private notify: () => void = () => undefined;
  private steps = 0;

  /**
   * @param folder in which it begins; the shell does not remove it
   * @param address of the server, which takes the place of http://127.0.0.1:6363 in what runs
   */
  constructor(
    private readonly folder: string,
    private readonly address?: string,
  ) {
    this.prepare();
    const port = address === undefined ? {} : { KITHDB_PORT: new URL(address).port, EXAMPLE_URL: address };
    this.bash = spawn('bash', ['-eu', '-o', 'pipefail'], {
      cwd: this.folder,
      env: {
        ...process.env,
        ...port,
        HOME: this.folder,
        PATH: `${join(this.folder, '.bin')}:${process.env['PATH']}`,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.bash.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.printed += text;
      this.notify();
    });
    this.bash.stderr.setEncoding('utf8').on('data', (text: string) => (this.failed += text));
    this.bash.once('close', () => {
      this.hasEnded = true;
      this.notify();
    });
    this.bash.stdin.write(CURL);
  }

  /** Runs a command or a whole script; resolves with what it printed, and rejects where it fails. */
  async run(script: string): Promise<string> {
    this.steps += 1;
    const mark = `--- step ${this.steps} ends ---`;
    this.printed = '';
    this.failed = '';
    this.bash.stdin.write(`{\n${this.here(expectingRefusals(script))}\n} < /dev/null\necho '${mark}'\n`);
    const deadline = Date.now() + TIMEOUT_MS;
    while (!this.printed.includes(mark)) {
      if (this.hasEnded) throw new Error(`failed:\n${script}\n${this.printed}\n${this.failed}`);
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`does not end:\n${script}\n${this.printed}\n${this.failed}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.notify = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.printed.slice(0, this.printed.indexOf(mark));
  }

  save(name: string, code: string): void {
    writeFileSync(join(this.folder, name), `${this.here(code)}\n`);
  }

  async end(): Promise<void> {
    if (this.hasEnded) return;
    const ended = new Promise((resolve) => this.bash.once('close', resolve));
    this.bash.stdin.end();
    await ended;
  }

  private here(code: string): string {
    const addressed =
      this.address === undefined ? code : code.replaceAll('http://127.0.0.1:6363', this.address);
    return addressed.replaceAll('/tmp/kithdb-', `${this.folder}-`);
  }

  /** What is at hand in a clone: `kithdb`, `npm`, `python3`, and the packages that pages install. */
  private prepare(): void {
    const packages = join(this.folder, 'node_modules');
    const bin = join(this.folder, '.bin');
    for (const folder of [packages, bin]) mkdirSync(folder);
    symlinkSync(root, join(packages, 'kithdb'));
    for (const name of PACKAGES) symlinkSync(join(root, 'node_modules', name), join(packages, name));
    const command = (name: string, text: string) => {
      writeFileSync(join(bin, name), `#!/usr/bin/env bash\nset -eu\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    command('kithdb', `exec node '${join(root, 'bin', 'kithdb.js')}' "$@"`);
    command('npm', NPM);
    command('python3', PYTHON);
  }
}

/** Answers of 400 and above fail, so that `set -e` notices; EXPECTED says which one is meant. */
const CURL = `
curl() {
  local status body
  body=$(mktemp)
  status=$(command curl --output "$body" --write-out '%{http_code}' "$@")
  cat "$body"; rm "$body"; echo
  if [ -n "\${EXPECTED:-}" ]; then [ "$status" = "$EXPECTED" ]; else [ "$status" -lt 400 ]; fi ||
    { echo "curl $*: $status" >&2; return 1; }
}
`;

/** Scripts of this repository run; what a page installs is linked already, and must be what tests run with. */
const NPM = `
root='${root}'
if [ "$1" = run ] || [ "$1" = start ]; then
  exec env INIT_CWD="$PWD" "${join(process.execPath, '..', 'npm')}" --prefix "$root" --silent "$@"
fi
[ "$1" = install ]
shift
case "$1" in *.tgz) exec "${join(process.execPath, '..', 'npm')}" install --ignore-scripts --prefer-offline --no-audit --no-fund "$@" ;; esac
for name in "$@"; do node -e "require.resolve(process.argv[1] + '/package.json')" "$name" 2>/dev/null || test -d "node_modules/$name"; done
`;

/** A virtual environment has the packages of test/clients/requirements.txt, and its pip installs nothing else. */
const PYTHON = `
[ "$1" = -m ] && [ "$2" = venv ] || exec '${python}' "$@"
mkdir -p "$3/bin"
printf '#!/bin/sh\\nexec %s "$@"\\n' '${python}' > "$3/bin/python"
printf '#!/bin/sh\\nshift\\nfor name in "$@"; do %s -m pip show --quiet "$name" || exit 1; done\\n' '${python}' > "$3/bin/pip"
chmod +x "$3/bin/python" "$3/bin/pip"
`;

/** A line that ends with `# 401` is refused with that. */
function expectingRefusals(script: string): string {
  return script.replaceAll(/^((?:[^\n]*\\\n)*[^\n]*?)[ ]+# ([45]\d\d)$/gm, 'EXPECTED=$2 $1');
}
