/**
 * Records as messages: a record that is too long for one is several, its frames, in their order and perhaps with frames of
 * other records between them. It counts from its last frame. Each frame names the sequence of the one before it, so that a
 * reader that began between them finds them.
 */
import { crc32 } from 'node:zlib';
import type { NewMessage, StreamMessage } from './message-stream';
import { FRAME_BYTES, MAX_RECORD_BYTES, type LogRecord, type NewRecord } from './record-log';

const OPERATION = 'Kithdb-Operation';
const EPOCH = 'Kithdb-Epoch';
const KIND = 'Kithdb-Kind';
/** Of the payload of the whole record: CRC-32, in hexadecimal. */
const CHECKSUM = 'Kithdb-Checksum';
/** `<number from 0>/<count>` */
const FRAME = 'Kithdb-Frame';
const PREVIOUS = 'Kithdb-Previous-Frame';

const MAX_FRAMES = MAX_RECORD_BYTES / FRAME_BYTES + 1;

interface FramePlace {
  readonly number: number;
  readonly count: number;
  /** The sequence of the frame before; 0 of the first. */
  readonly previous: number;
}

/** A message with the meaning of its headers. */
export interface Frame extends Pick<NewRecord, 'operation' | 'epoch' | 'kind'>, FramePlace {
  /** Of the whole record. */
  readonly checksum: string;
  readonly message: StreamMessage;
}

/** How many messages a record is. */
export function frameCount(payload: Uint8Array): number {
  return Math.max(1, Math.ceil(payload.length / FRAME_BYTES));
}

export function checksumOf(payload: Uint8Array): string {
  return crc32(payload).toString(16).padStart(8, '0');
}

/** A record of one frame. */
export function onlyMessage(subject: string, record: NewRecord): NewMessage {
  const { operation, payload } = record;
  return { id: operation, subject, headers: headersOf(record, checksumOf(payload)), payload };
}

/** One frame of a record that has several, with the checksum of its payload. */
export function frameMessage(
  subject: string,
  record: NewRecord,
  checksum: string,
  { number, count, previous }: FramePlace,
): NewMessage {
  const { operation, payload } = record;
  return {
    id: `${operation}#${number}`,
    subject,
    headers: {
      ...headersOf(record, checksum),
      [FRAME]: `${number}/${count}`,
      ...(number > 0 && { [PREVIOUS]: String(previous) }),
    },
    payload: payload.subarray(number * FRAME_BYTES, (number + 1) * FRAME_BYTES),
  };
}

function headersOf({ operation, epoch, kind }: NewRecord, checksum: string): Record<string, string> {
  return { [OPERATION]: operation, [EPOCH]: String(epoch), [KIND]: kind, [CHECKSUM]: checksum };
}

/** The frame that a message is; undefined where it is none, because something else than a node published it. */
export function parseFrame(message: StreamMessage): Frame | undefined {
  const { headers } = message;
  const { [OPERATION]: operation, [KIND]: kind, [CHECKSUM]: checksum } = headers;
  const epoch = whole(headers[EPOCH]);
  const place = placeIn(headers);
  if (operation === undefined || kind === undefined || checksum === undefined) return undefined;
  if (epoch === undefined || place === undefined) return undefined;
  return { message, operation, epoch, kind, checksum, ...place };
}

function placeIn(headers: StreamMessage['headers']): FramePlace | undefined {
  const text = headers[FRAME];
  if (text === undefined) return { number: 0, count: 1, previous: 0 };
  const [numberText, countText] = text.split('/');
  const number = whole(numberText);
  const count = whole(countText);
  const previous = number === 0 ? 0 : whole(headers[PREVIOUS]);
  if (number === undefined || count === undefined || previous === undefined) return undefined;
  return number < count && count <= MAX_FRAMES ? { number, count, previous } : undefined;
}

function whole(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  return Number(text);
}

/** The record of all of its frames, in their order. */
export function recordOf(frames: readonly Frame[]): LogRecord {
  const [first, last] = [frames[0], frames.at(-1)];
  if (first === undefined || last === undefined) throw new Error('a record has at least one frame');
  const { operation, epoch, kind, message } = last;
  return {
    sequence: message.sequence,
    firstSequence: first.message.sequence,
    subject: message.subject,
    ...{ operation, epoch, kind },
    payload:
      frames.length === 1 ? message.payload : Buffer.concat(frames.map((frame) => frame.message.payload)),
    storedAtMs: message.storedAtMs,
  };
}

/** Whether two frames are of one record. */
export function areOfOneRecord(one: Frame, other: Frame): boolean {
  return (
    one.operation === other.operation &&
    one.checksum === other.checksum &&
    one.count === other.count &&
    one.message.subject === other.message.subject
  );
}

/** Frames that were read and whose record is not complete, up to a number of bytes: the oldest are forgotten first. */
export class FrameBuffer {
  readonly #frames = new Map<number, Frame>();
  #bytes = 0;

  constructor(readonly maxBytes: number) {}

  add(frame: Frame): void {
    this.#frames.set(frame.message.sequence, frame);
    this.#bytes += frame.message.payload.length;
    for (const sequence of this.#frames.keys()) {
      if (this.#bytes <= this.maxBytes) return;
      this.take(sequence);
    }
  }

  take(sequence: number): Frame | undefined {
    const frame = this.#frames.get(sequence);
    if (frame !== undefined) {
      this.#frames.delete(sequence);
      this.#bytes -= frame.message.payload.length;
    }
    return frame;
  }
}
