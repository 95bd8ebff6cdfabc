import { join } from 'node:path';
import { isWhole, makeBackup, type BackupOutcome } from './backup';
import { FILES, MANIFEST, parseManifest, readManifest, type BackupFile } from './backup-manifest';
import { readName, type BackupEntry, type BackupPlace, type BackupSource } from './backup-rotation';
import { isSame } from './copying';
import { BackupError } from './failure';
import { makeWorkFolder } from './held-folder';
import type { S3Address, S3Bucket, S3Upload } from './s3-bucket';

/** Begins the names of the folders in which backups are made, which are among those of other programs. */
const WORK_PREFIX = 'kithdb-backup-';

/**
 * A place in a bucket with backups. The layout of each is that of a folder, and the manifest comes last and goes first:
 * without it there is no backup.
 */
export class BackupBucket implements BackupPlace {
  readonly #prefix: string;

  constructor(
    private readonly bucket: S3Bucket,
    private readonly address: S3Address,
    /** A folder with room for one backup, which is made there first. */
    private readonly workFolder: string,
  ) {
    this.#prefix = address.prefix === '' ? '' : `${address.prefix}/`;
  }

  async make(stamp: string, source: BackupSource): Promise<BackupOutcome> {
    const work = await makeWorkFolder(this.workFolder, WORK_PREFIX);
    try {
      const local = await makeBackup({ ...source, to: join(work.path, stamp), removesPart: true });
      const name = isWhole(local) ? stamp : `${stamp}.damaged`;
      await this.#upload(local.to, name);
      return { ...local, to: `s3://${this.address.bucket}/${this.#prefix}${name}` };
    } finally {
      await work.remove();
    }
  }

  /** Uploads a backup, and reads every object back before the manifest makes it one. */
  async #upload(folder: string, name: string): Promise<void> {
    const at = `${this.#prefix}${name}/`;
    if ((await this.bucket.list(at)).length > 0) {
      throw new BackupError(`s3://${this.address.bucket}/${at} is not empty: another backup is made there`);
    }
    const { files } = await readManifest(folder);
    for (const file of files) {
      const key = `${at}${FILES}/${file.path}`;
      await this.bucket.put(key, join(folder, FILES, file.path));
      if (!isSame(await this.bucket.digestOf(key), file)) {
        throw new BackupError(`s3://${this.address.bucket}/${key} is not what was sent`);
      }
    }
    const key = `${at}${MANIFEST}`;
    await this.bucket.put(key, join(folder, MANIFEST));
    parseManifest(await this.bucket.text(key), `s3://${this.address.bucket}/${key}`);
  }

  async entries(): Promise<readonly BackupEntry[]> {
    const entries: BackupEntry[] = [];
    const names = new Set(await this.bucket.names(this.#prefix));
    // One that was killed in its first upload has no object.
    for (const { key } of await this.#uploads(this.#prefix)) {
      names.add(key.slice(this.#prefix.length).split('/', 1)[0] ?? '');
    }
    for (const name of names) {
      const known = readName(name);
      if (known !== undefined) {
        entries.push({ name, stamp: known.stamp, state: await this.#stateOf(name, known.suffix) });
      }
    }
    return entries;
  }

  async #stateOf(name: string, suffix: string | undefined): Promise<BackupEntry['state']> {
    const at = `${this.#prefix}${name}/`;
    const objects = new Map(
      (await this.bucket.list(at)).map(({ key, bytes }) => [key.slice(at.length), bytes]),
    );
    if (!objects.has(MANIFEST)) {
      return 'unfinished';
    }
    if (suffix !== undefined) {
      return 'damaged';
    }
    const files = filesOf(await this.bucket.text(`${at}${MANIFEST}`));
    const isComplete = files?.every(({ path, bytes }) => objects.get(`${FILES}/${path}`) === bytes);
    return isComplete === true ? 'whole' : 'damaged';
  }

  async remove(name: string): Promise<void> {
    const at = `${this.#prefix}${name}/`;
    const keys = (await this.bucket.list(at)).map(({ key }) => key);
    const manifest = `${at}${MANIFEST}`;
    for (const key of [manifest, ...keys.filter((other) => other !== manifest)]) {
      await this.bucket.remove(key);
    }
    for (const upload of await this.#uploads(at)) {
      // Another run may have ended it, and who has these credentials need not be allowed to.
      await this.bucket.abort(upload).catch(() => undefined);
    }
  }

  /** Uploads that were not ended; none where the server does not list them, or not to who has these credentials. */
  #uploads(prefix: string): Promise<readonly S3Upload[]> {
    return this.bucket.uploads(prefix).catch(() => []);
  }
}

/** What a manifest names; undefined where it is damaged, or of a later release. */
function filesOf(text: string): readonly BackupFile[] | undefined {
  try {
    return parseManifest(text, MANIFEST).files;
  } catch (error) {
    if (error instanceof BackupError) return undefined;
    throw error;
  }
}
