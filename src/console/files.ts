import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { packageFolder } from '../system/package-folder';

/** Written by the build from `src/console/app`. */
const FOLDER = join(packageFolder(), 'dist', 'console', 'app');

const PAGE = 'index.html';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file of the console, as it is and compressed by the build. */
export interface StaticFile {
  readonly contentType: string;
  readonly plain: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

/**
 * The files of the console. They are read at the first request, since most servers never get one, and then kept: they are
 * a few hundred kilobytes. A name that is asked for is looked up among those of the folder and never made a path.
 */
export class ConsoleFiles {
  #files: ReadonlyMap<string, StaticFile> | undefined;

  constructor(private readonly folder: string = FOLDER) {}

  /** The page. @throws Error when the console was not built. */
  get page(): StaticFile {
    const page = this.#all.get(PAGE);
    if (page === undefined) {
      throw new Error('The console was not built');
    }
    return page;
  }

  /** A file by its name; not the page, whose headers are others. */
  find(name: string): StaticFile | undefined {
    return name === PAGE ? undefined : this.#all.get(name);
  }

  get #all(): ReadonlyMap<string, StaticFile> {
    return (this.#files ??= readAll(this.folder));
  }
}

function readAll(folder: string): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const name of readdirSync(folder)) {
    const contentType = CONTENT_TYPES[extname(name)];
    if (contentType !== undefined) {
      const read = (suffix: string): Buffer => readFileSync(join(folder, `${name}${suffix}`));
      files.set(name, { contentType, plain: read(''), br: read('.br'), gzip: read('.gz') });
    }
  }
  return files;
}
