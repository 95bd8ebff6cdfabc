import { EngineError, type EngineRequest } from '../../src/engine/types';
import { Reembedder } from '../../src/models/reembedder';
import { FakeBody, FakeEngine } from '../http/fake-engine';
import { until } from '../until';

/** A vector field with texts, each of which is its number. */
interface TextField {
  readonly vector: string;
  readonly rate?: number;
  readonly left: number[];
  /** Where the next batch begins. */
  at: number;
  /** Batches that came back. */
  batches: number;
}

interface Text {
  readonly at: number;
}

interface Sent {
  readonly limit?: number;
  readonly points?: readonly Text[];
  readonly error?: string;
}

/** Gives out the texts of some fields, and takes all of them but one, as a model that refuses it would have it. */
class TextsEngine extends FakeEngine {
  /** Why the batch before failed, as the worker says it with each request of texts. */
  readonly errors: (string | undefined)[] = [];

  constructor(
    readonly fields: readonly TextField[],
    readonly refused?: number,
  ) {
    super();
  }

  override async execute({ operation, target, body }: EngineRequest): Promise<Buffer> {
    // The worker must not keep timers and other callbacks from running.
    await new Promise((resolve) => setImmediate(resolve));
    const sent = body instanceof FakeBody && body.bytes.length > 0 ? body.bytes.toString() : '{}';
    const { limit = 0, points = [], error } = JSON.parse(sent) as Sent;
    if (operation === 'next_texts') this.errors.push(error);
    if (operation === 'list_reembeddings') {
      return answer(this.fields.map(({ vector }) => ({ collection: 'c', vector })));
    }
    const field = this.fields.find(({ vector }) => vector === target);
    if (field === undefined) throw new EngineError('vector_not_found', { name: target ?? '' });
    return answer(operation === 'next_texts' ? next(field, limit) : this.fill(field, points));
  }

  private fill(field: TextField, points: readonly Text[]): object {
    field.batches += 1;
    if (points.some(({ at }) => at === this.refused)) {
      throw new EngineError('model_failed', { name: 'm', place: 'points[0].input' });
    }
    for (const { at } of points) field.left.splice(field.left.indexOf(at), 1);
    return {};
  }
}

/** As the engine does it: from where the last batch ended on, and at the end from the beginning again. */
function next(field: TextField, limit: number): object {
  const behind = field.left.filter((at) => at >= field.at);
  const texts = (behind.length > 0 ? behind : field.left).slice(0, limit);
  field.at = (texts.at(-1) ?? -1) + 1;
  const { rate } = field;
  return { begun: 1, rate, has_more: texts.length > 0, points: texts.map((at) => ({ at, point: `p${at}` })) };
}

function answer(result: unknown): Buffer {
  return Buffer.from(JSON.stringify({ time: 0.001, status: 'ok', result }));
}

function fieldOf(vector: string, texts: number, rate?: number): TextField {
  const left = Array.from({ length: texts }, (_, at) => at);
  return { vector, ...(rate !== undefined && { rate }), left, at: 0, batches: 0 };
}

async function whileEmbedding(engine: TextsEngine, check: () => Promise<void>): Promise<void> {
  const reembedder = new Reembedder(engine, { pollMs: 1, pausesMs: [0] });
  reembedder.start();
  try {
    await check();
  } finally {
    await reembedder.close();
  }
}

test('C19 one text that the model refuses is found by halves, and the others are embedded', async () => {
  const field = fieldOf('v', 100);
  const engine = new TextsEngine([field], 37);
  await whileEmbedding(engine, async () => {
    // Half of these is enough.
    await until(() => field.batches >= 100);
    expect(field.left).toEqual([37]);
  });
  // Its point is named as soon as it was sent alone.
  const errors = engine.errors.filter((error) => error !== undefined);
  expect([errors[0], errors.at(-1)]).toEqual([
    "Model 'm' failed: it failed",
    "point p37: Model 'm' failed: it failed",
  ]);
});

test('C19 a field with a rate waits while another one goes on', async () => {
  // A text a second, so that the first batch is followed by a pause of a minute.
  const [slow, fast] = [fieldOf('slow', 200, 1), fieldOf('fast', 200)];
  await whileEmbedding(new TextsEngine([slow, fast]), async () => {
    await until(() => fast.left.length === 0 && slow.batches > 0);
    expect([slow.batches, fast.batches]).toEqual([1, 4]);
  });
});

test('C19 a worker that is closed between two attempts does not try again', async () => {
  const field = fieldOf('v', 1);
  const reembedder = new Reembedder(new TextsEngine([field], 0), { pollMs: 1, pausesMs: [60_000] });
  reembedder.start();
  await until(() => field.batches === 1);
  // It asks for the texts again, and waits.
  await new Promise((resolve) => setTimeout(resolve, 20));
  await reembedder.close();
  expect(field.batches).toBe(1);
});
