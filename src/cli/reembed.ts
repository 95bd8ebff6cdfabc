import { setTimeout as pause } from 'node:timers/promises';
import type { ByteTransport } from '../client/transport';
import type { Schemas } from '../client/types';
import type { Config, VerbFlag } from '../config';
import { CommandError, counted, EXIT, type Console, type ExitCode } from './console';
import { numberFlag, optionalFlag, requiredFlag, say } from './flags';
import { Progress } from './progress';
import { URL_FLAG, withService } from './service';
import type { GivenFlags } from './verbs';

type Report = Schemas['Reembedding'];

/** What a re-embedding is begun with. */
interface Order {
  readonly model: { readonly name: string; readonly text_key?: string };
  readonly size?: number;
  readonly rate?: number;
}

/** How often the state is asked for. */
const POLL_MS = 300;
/** How often a commit is tried where texts are written meanwhile. */
const MAX_COMMITS = 100;
const MAX_COMPONENTS = 65_536;
const MAX_RATE = 1_000_000;

/** The flags of `kithdb reembed`. */
export const REEMBED_FLAGS: readonly VerbFlag[] = [
  URL_FLAG,
  { name: 'collection', placeholder: 'NAME', about: 'The collection, which may also stand behind the verb.' },
  { name: 'vector', placeholder: 'NAME', about: 'The vector; the unnamed one when absent.' },
  {
    name: 'model',
    placeholder: 'NAME',
    about: 'The new model, one of the setting models. Without it a re-embedding that is under way is shown.',
  },
  {
    name: 'text-key',
    placeholder: 'PATH',
    about: 'Where payloads have the texts; where the present model of the vector has them when absent.',
  },
  { name: 'size', placeholder: 'N', about: 'Components that the vectors of the model must have.' },
  { name: 'rate', placeholder: 'N', about: 'Texts a second at most.' },
  { name: 'commit', about: 'Puts the new vectors in the place of the old ones when every text is embedded.' },
  {
    name: 'allow-missing',
    about: 'With --commit: also where points have no text; these are left without the vector.',
  },
  { name: 'abort', about: 'Gives up the re-embedding that is under way; the vector stays as it is.' },
  { name: 'json', about: 'Prints the outcome as JSON.' },
];

/** `kithdb reembed`: embeds a vector anew with another model (C19). */
export async function reembed(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const collection = requiredFlag(flags, 'collection', 'NAME');
  const vector = optionalFlag(flags, 'vector') ?? '';
  const begun = bodyOf(flags);
  return withService(config, flags, async (service) => {
    // As in a path: quotes are in no other name.
    const field = new Field(service, collection, vector === '' ? '""' : vector);
    if (flags.has('abort')) {
      await field.send('abort_reembedding');
      say(console, flags, 'It is given up.', { collection, vector, state: 'aborted' });
      return EXIT.success;
    }
    if (begun !== undefined) await field.begin(begun);
    const report = await field.follow(console);
    const outcome = { collection, vector, ...report };
    const { done, missing_texts: missing } = report;
    const without = missing === 0 ? '' : `; ${counted(missing, 'point')} without a text`;
    if (!flags.has('commit')) {
      say(
        console,
        flags,
        `${counted(done, 'point')} embedded${without}. --commit puts them in place.`,
        outcome,
      );
      return EXIT.success;
    }
    if (missing > 0 && !flags.has('allow-missing')) {
      say(console, flags, `${counted(done, 'point')} embedded${without}, so nothing was committed.`, outcome);
      return EXIT.reservations;
    }
    await field.commit(flags.has('allow-missing'));
    say(console, flags, `${counted(done, 'point')} embedded and in place${without}.`, {
      ...outcome,
      state: 'committed',
    });
    return EXIT.success;
  });
}

/** What a re-embedding is begun with; undefined where one is only followed. */
function bodyOf(flags: GivenFlags): Order | undefined {
  const name = optionalFlag(flags, 'model');
  const textKey = optionalFlag(flags, 'text-key');
  const size = numberFlag(flags, 'size', { lowest: 1, highest: MAX_COMPONENTS, fallback: 0 });
  const rate = numberFlag(flags, 'rate', { lowest: 1, highest: MAX_RATE, fallback: 0 });
  if (name === undefined) {
    if (textKey !== undefined || size > 0 || rate > 0) {
      throw new CommandError('--text-key, --size and --rate need --model', EXIT.usage);
    }
    return undefined;
  }
  return {
    model: { name, ...(textKey !== undefined && { text_key: textKey }) },
    ...(size > 0 && { size }),
    ...(rate > 0 && { rate }),
  };
}

/** A vector that is being embedded anew. */
class Field {
  constructor(
    private readonly service: ByteTransport,
    private readonly collection: string,
    private readonly target: string,
  ) {}

  async send(
    operation: 'reembed_vectors' | 'reembedding' | 'commit_reembedding' | 'abort_reembedding',
    body?: object,
  ): Promise<unknown> {
    const { collection, target } = this;
    return (await this.service.execute({ operation, collection, target, body })).result;
  }

  /** Begins, unless the same has begun already. */
  async begin(order: Order): Promise<void> {
    try {
      await this.send('reembed_vectors', order);
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (!isOf(order, (await this.send('reembedding')) as Report)) throw error;
    }
  }

  /** Shows how far it is, until every text is embedded. */
  async follow(console: Console): Promise<Report> {
    let progress: Progress | undefined;
    let lastError: string | undefined;
    for (;;) {
      const report = (await this.send('reembedding')) as Report;
      progress ??= new Progress(console, report.total);
      if (report.error !== undefined && report.error !== lastError) {
        progress.end();
        console.stderr.write(`The model failed and is asked again: ${report.error}\n`);
      }
      lastError = report.error;
      progress.show(report.done, report.done);
      if (report.state === 'ready') {
        progress.end();
        return report;
      }
      await pause(POLL_MS);
    }
  }

  /** Commits; again where a text that was written meanwhile is being embedded. */
  async commit(allowMissing: boolean): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // Without the permission first: a text that is only late must not be left out.
        await this.send('commit_reembedding', { allow_missing: allowMissing && (await this.#isReady()) });
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === MAX_COMMITS) throw error;
        await pause(POLL_MS);
      }
    }
  }

  async #isReady(): Promise<boolean> {
    return ((await this.send('reembedding')) as Report).state === 'ready';
  }
}

/** Whether a re-embedding has all that an order names. What it does not name may be anything. */
function isOf({ model, size, rate }: Order, report: Report): boolean {
  const isSame = (asked: unknown, found: unknown): boolean => asked === undefined || asked === found;
  return (
    report.model?.name === model.name &&
    isSame(model.text_key, report.model.text_key) &&
    isSame(size, report.size) &&
    isSame(rate, report.rate)
  );
}

function isConflict(error: unknown): boolean {
  return error instanceof Error && (error as { readonly status?: unknown }).status === 409;
}
