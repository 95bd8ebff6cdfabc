/** The thread of one model: it loads the folder, and answers questions one after the other. */
import { createRequire } from 'node:module';
import { availableParallelism, setPriority, constants } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type * as Runtime from 'onnxruntime-common';
import { Encoder, TextFailure, type MakeTensor, type Session } from './encoder';
import { BadFolder, readFolder, type GivenFolder } from './folder';
import type { Question, Report } from './messages';
import { TokenReader, type Tokenizer } from './tokens';

/** Its types cannot be resolved by a module of Node. */
interface TokenizerLibrary {
  readonly Tokenizer: new (tokenizer: object, config: object) => Tokenizer;
}

const load = createRequire(__filename);
/** A text of the model's first run, which shows that it works, and the length of its vectors. */
const PROBE = 'probe';
const MAX_REASON_CHARACTERS = 300;

function say(report: Report): void {
  parentPort?.postMessage(report);
}

async function open(given: GivenFolder): Promise<Encoder> {
  const folder = readFolder(given);
  const { InferenceSession, Tensor } = load('onnxruntime-node') as typeof Runtime;
  const { Tokenizer } = load('@huggingface/tokenizers') as TokenizerLibrary;
  let reader: TokenReader;
  try {
    reader = new TokenReader(new Tokenizer(folder.tokenizer, folder.tokenizerConfig), folder.mostTokens);
  } catch (error) {
    throw new BadFolder(`${given.path} has a tokenizer.json that cannot be used (${reason(error)})`);
  }
  // On Linux it is the priority of this thread, and of those that the runtime starts from it: searches come first.
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);
  let session: Session;
  try {
    session = await InferenceSession.create(folder.modelFile, {
      intraOpNumThreads: Math.max(1, Math.floor(availableParallelism() / 2)),
      interOpNumThreads: 1,
      // A thread that waits for work would take the time of searches.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
      logSeverityLevel: 3,
    });
  } catch (error) {
    throw new BadFolder(`${folder.modelFile} cannot be loaded (${reason(error)})`);
  }
  const tensor: MakeTensor = (data, dims) => new Tensor('int64', data, dims);
  return new Encoder(folder, reader, session, tensor);
}

/** The first line of what a library says. */
function reason(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return line.slice(0, MAX_REASON_CHARACTERS);
}

async function serve(): Promise<void> {
  let encoder: Encoder;
  try {
    encoder = await open(workerData as GivenFolder);
    say({ kind: 'ready', dimension: (await encoder.encode([PROBE])).length });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    say({ kind: 'broken', message: reason(error), code });
    return;
  }
  parentPort?.on('message', ({ id, texts }: Question) => {
    encoder.encode(texts).then(
      (vectors) => {
        parentPort?.postMessage({ kind: 'vectors', id, vectors } satisfies Report, [
          vectors.buffer as ArrayBuffer,
        ]);
      },
      (error: unknown) => {
        say({
          kind: 'failed',
          id,
          message: reason(error),
          text: error instanceof TextFailure ? error.text : undefined,
        });
      },
    );
  });
}

void serve();
