/**
 * Does work for each item, also where it fails for others. Rejects with the first error when all were tried; once the signal is
 * aborted it begins with no other one, and errors are those of the end.
 */
export async function tryEach<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) {
    if (signal.aborted) return;
    try {
      await work(item);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0 && !signal.aborted) throw errors[0];
}
