import type { AuditFields } from './audit-fields';

/** A body is kept up to this size; the line of a longer one says that it was too long. */
const MAX_BYTES = 256 * 1024;

/** Gives what the audit stream names of a body, which was parsed and may be anything. */
export type ReadAudited = (body: unknown) => AuditFields;

/** The body of a request whose names the audit stream has, kept beside that which the engine collects. */
export class AuditedBody {
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly read: ReadAudited) {}

  /** Takes a copy of a piece. */
  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > MAX_BYTES) {
      this.#pieces = [];
    } else {
      this.#pieces.push(Buffer.from(piece));
    }
  }

  /** What it names; nothing where it is no JSON, which the engine refuses. */
  fields(): AuditFields {
    if (this.#bytes > MAX_BYTES) {
      return { body: `longer than ${MAX_BYTES} bytes` };
    }
    let body: unknown;
    try {
      body = JSON.parse(Buffer.concat(this.#pieces).toString());
    } catch {
      return {};
    }
    return this.read(body);
  }
}
