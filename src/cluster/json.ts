/** Whether parsed JSON is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object that bytes are as JSON; undefined for others. */
export function objectIn(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
    );
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value is a whole number from 0, such as a position. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether parsed JSON is the digest of a replica's state: hexadecimal. */
export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{1,128}$/.test(value);
}
