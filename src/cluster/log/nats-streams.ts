/** The streams of a cluster as JetStream has them: their configuration, and making them. */
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { errors, nanos } from '@nats-io/transport-node';
import { reasonOf } from '../../files/explained';
import { retried, unlessAborted } from '../waiting';
import {
  DUPLICATE_WINDOW_MS,
  LogConfigurationError,
  LogUnavailableError,
  type StreamOrigin,
} from './record-log';

const PAUSE_MS = 250;
/** Of the layout of streams, subjects and headers. */
const FORMAT = '1';

const NAME_IN_USE = 10058;
/** Answers that do not change by themselves. */
const REFUSALS: ReadonlySet<number> = new Set([
  JetStreamApiCodes.JetStreamNotEnabledForAccount,
  10005, // not enough servers for the replicas
  10026, // more streams than the account may have
  10047, // the server's limit of storage
  10052, // a configuration that is not valid
  10065, // the subjects of another stream
  10074, // replicas need a cluster of servers
]);

export interface StreamNames {
  readonly stream: string;
  /** Prefix of its subjects, with its dot. */
  readonly prefix: string;
}

/** @param part `map`, `auth`, or the number of a group, with `_eEPOCH` for a stream that took the place of a lost one */
export function streamNames(cluster: string, part: string): StreamNames {
  return { stream: `KITHDB_${cluster}_${part}`, prefix: `kithdb.${cluster}.${part}.` };
}

/** What streams of a cluster differ in. */
export interface StreamSettings {
  readonly replicas: number;
  readonly groups: number;
  /** The sequence of its first record, where it is made. */
  readonly firstSequence: number;
}

type WantedConfiguration = Pick<
  StreamConfig,
  | 'name'
  | 'subjects'
  | 'storage'
  | 'retention'
  | 'discard'
  | 'num_replicas'
  | 'duplicate_window'
  | 'deny_delete'
  | 'deny_purge'
  | 'allow_rollup_hdrs'
  | 'max_age'
  | 'max_msgs'
  | 'max_bytes'
  | 'max_msgs_per_subject'
> & { readonly metadata: Record<string, string> };

function wantedConfiguration(
  { stream, prefix }: StreamNames,
  replicas: number,
  groups: number,
): WantedConfiguration {
  return {
    name: stream,
    subjects: [`${prefix}>`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    num_replicas: replicas,
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    deny_delete: true,
    deny_purge: false,
    allow_rollup_hdrs: false,
    max_age: 0,
    max_msgs: -1,
    max_bytes: -1,
    max_msgs_per_subject: -1,
    metadata: { kithdb_format: FORMAT, kithdb_groups: String(groups) },
  };
}

/** When trying ends. */
export interface Deadline {
  /** Of `performance.now()`. */
  readonly atMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The answer of the servers, which are asked again after each failure.
 * @throws what `refusalOf` makes of an error; LogUnavailableError at the deadline; the reason of the signal
 */
function answered<T>(
  ask: () => Promise<T>,
  { atMs, signal }: Deadline,
  what: string,
  refusalOf: (error: unknown, isOver: boolean) => Error | undefined = () => undefined,
): Promise<T> {
  return retried(
    () => unlessAborted(ask(), signal),
    { pauseMs: PAUSE_MS, signal },
    (error) => {
      const isOver = performance.now() >= atMs;
      const refusal = refusalOf(error, isOver);
      if (refusal !== undefined) throw refusal;
      if (!isOver) return;
      throw new LogUnavailableError(`${what} in time: ${reasonOf(error)}`, { cause: error });
    },
  );
}

/**
 * Makes a stream where it does not exist, and compares it with what is wanted where it does.
 * @throws LogConfigurationError, LogUnavailableError
 */
export async function ensureStream(
  manager: JetStreamManager,
  names: StreamNames,
  { replicas, groups, firstSequence }: StreamSettings,
  deadline: Deadline,
): Promise<StreamOrigin> {
  const wanted = wantedConfiguration(names, replicas, groups);
  const info = await answered(
    () => existingOrNew(manager, wanted, firstSequence),
    deadline,
    `${names.stream} could not be made`,
    (error) => refusalOf(error, names.stream),
  );
  return originOf(info, wanted);
}

/** @throws LogConfigurationError where the stream has another configuration than is wanted */
function originOf({ config, created }: StreamInfo, wanted: WantedConfiguration): StreamOrigin {
  refuseOther(wanted, config);
  return { created, firstSequence: Math.max(1, (config as Partial<StreamConfig>).first_seq ?? 1) };
}

async function existingOrNew(
  manager: JetStreamManager,
  wanted: WantedConfiguration,
  firstSequence: number,
): Promise<StreamInfo> {
  const existing = await infoOf(manager, wanted.name);
  if (existing !== undefined) return existing;
  try {
    // A copy: the client adds fields to what it is given.
    return await manager.streams.add({ ...wanted, ...(firstSequence > 1 && { first_seq: firstSequence }) });
  } catch (error) {
    // Another node made it meanwhile, perhaps with other settings.
    const made = codeOf(error) === NAME_IN_USE ? await infoOf(manager, wanted.name) : undefined;
    if (made === undefined) throw error;
    return made;
  }
}

/**
 * A stream as the servers have it, compared with what is wanted; undefined where they do not have it.
 * @throws LogConfigurationError; LogUnavailableError where they did not say so in time
 */
export async function existingStream(
  manager: JetStreamManager,
  names: StreamNames,
  { replicas, groups }: Pick<StreamSettings, 'replicas' | 'groups'>,
  deadline: Deadline,
): Promise<StreamOrigin | undefined> {
  const { stream } = names;
  const info = await answered(() => infoOf(manager, stream), deadline, `${stream} could not be looked for`);
  return info && originOf(info, wantedConfiguration(names, replicas, groups));
}

/** Removes a stream, which may be gone. @throws LogUnavailableError where the servers did not do it */
export async function removeStream(manager: JetStreamManager, { stream }: StreamNames): Promise<void> {
  try {
    await manager.streams.delete(stream);
  } catch (error) {
    if (codeOf(error) === JetStreamApiCodes.StreamNotFound) return;
    throw new LogUnavailableError(`${stream} could not be removed: ${reasonOf(error)}`, { cause: error });
  }
}

async function infoOf(manager: JetStreamManager, stream: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(stream);
  } catch (error) {
    if (codeOf(error) === JetStreamApiCodes.StreamNotFound) return undefined;
    throw error;
  }
}

function refuseOther(wanted: WantedConfiguration, found: StreamConfig): void {
  const { metadata, ...settings } = wanted;
  const foundSettings: Readonly<Record<string, unknown>> = { ...found };
  const foundMetadata = found.metadata ?? {};
  const differences = [
    ...Object.entries(settings).map(([name, value]) => ({
      name,
      value,
      other: foundSettings[name] ?? false,
    })),
    ...Object.entries(metadata).map(([name, value]) => ({
      name,
      value,
      other: foundMetadata[name] ?? 'missing',
    })),
  ].filter(({ value, other }) => JSON.stringify(value) !== JSON.stringify(other));
  if (differences.length === 0) return;
  const list = differences.map(
    ({ name, value, other }) => `${name} is ${JSON.stringify(other)} and must be ${JSON.stringify(value)}`,
  );
  throw new LogConfigurationError(
    `the stream ${wanted.name} exists with another configuration: ${list.join('; ')}`,
  );
}

function refusalOf(error: unknown, stream: string): LogConfigurationError | undefined {
  const code = codeOf(error);
  if (code === undefined || !REFUSALS.has(code)) return undefined;
  return new LogConfigurationError(`the log servers cannot have the stream ${stream}: ${reasonOf(error)}`, {
    cause: error,
  });
}

/**
 * That the servers have JetStream.
 * @throws LogConfigurationError, LogUnavailableError
 */
export async function ensureJetStream(manager: JetStreamManager, deadline: Deadline): Promise<void> {
  await answered(
    () => manager.getAccountInfo(),
    deadline,
    'JetStream did not answer',
    (cause, isOver) => {
      const isOff = codeOf(cause) === JetStreamApiCodes.JetStreamNotEnabledForAccount;
      return isOff || (isOver && isNobodyThere(cause))
        ? new LogConfigurationError('the log servers have no JetStream: start them with it', { cause })
        : undefined;
    },
  );
}

function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined;
}

function isNobodyThere(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof errors.RequestError && cause.isNoResponders();
}
