import { resolve } from 'node:path';
import { totalmem } from 'node:os';
import { BadValue } from '../config/setting';
import { SETTINGS } from '../config/settings';
import type { EngineOptions } from '../engine/types';
import { openNativeEngine } from '../engine';
import { refuseNode } from '../operations/cluster-node';
import { BadModel } from '../models/bad-model';
import { ConfiguredModels } from '../models/configured-models';
import { checkModels, type TextModel } from '../models/model';
import { Reembedder } from '../models/reembedder';
import { EmbeddedTransport } from './transport';

/** How to open a folder (C18). */
export interface OpenOptions {
  /** Only this process has the folder: opening fails where another one has it, and others get an error until it is closed. */
  readonly exclusive?: boolean;
  /** This process is never the owner: it attaches to one, or waits for one, and writes nothing. */
  readonly readOnly?: boolean;
  /** Milliseconds that opening may wait for another process, a day at most; 60,000 when absent. */
  readonly timeoutMs?: number;
  /** Threads that answer reads while this process is the owner, from 1 to 1,024; the number of cores when absent. */
  readonly searchThreads?: number;
  /**
   * Bytes that this process may hold while it is the owner, at least 64 MiB; those of its control group or of the machine when
   * absent.
   */
  readonly memoryLimit?: number;
  /**
   * The share of the processors that measuring recall may use while this process is the owner, in percent (C14): from 0, with
   * which none is measured, to 100; 1 when absent.
   */
  readonly calibrationPercent?: number;
  /** Names of file systems on which a new folder may be made although they do not keep the promises of one. */
  readonly allowFilesystem?: readonly string[];
  /** The models that make vectors of texts in this process (C16), beside those that are built in. */
  readonly models?: readonly TextModel[];
}

const TIMEOUT_MS = 60_000;
/** As long as the binding waits. It takes no infinite number. */
const LONGEST_TIMEOUT_MS = 86_400_000;

/**
 * Opens a folder, which is created when it is missing: as its owner, or attached to the process that is.
 * @throws Error that says why it cannot be opened.
 * @throws TypeError for options that exclude each other or are out of bounds, and for models that cannot be used.
 */
export async function openFolder(folder: string, options: OpenOptions = {}): Promise<EmbeddedTransport> {
  refuseContradiction(options);
  refuseOutOfBounds(options);
  if (options.readOnly !== true)
    refuseNode(
      folder,
      'ask a node of it by its URL, serve the directory alone (kithdb serve --cluster-alone) and ask that, or open it with readOnly beside the node',
    );
  const models = await openModels(options.models);
  try {
    const engine = openNativeEngine(engineOptions(folder, options, models));
    const warning = await engine.open();
    if (warning !== undefined) {
      process.emitWarning(warning, { code: 'KITHDB_FILE_SYSTEM' });
    }
    const reembedder = new Reembedder(engine);
    if (options.readOnly !== true) reembedder.start();
    return new EmbeddedTransport(engine, { reembedder, ...(models !== undefined && { models }) });
  } catch (error) {
    await models?.close();
    throw error;
  }
}

function refuseContradiction({ exclusive = false, readOnly = false }: OpenOptions): void {
  if (exclusive && readOnly) {
    throw new TypeError('exclusive and readOnly exclude each other');
  }
}

/** The binding would take any number for one that it can use: -1 threads for four billion. */
function refuseOutOfBounds(options: OpenOptions): void {
  const { timeoutMs = TIMEOUT_MS, calibrationPercent = 0, searchThreads, memoryLimit } = options;
  if (!(timeoutMs >= 0)) {
    throw new TypeError('timeoutMs must be a number from 0 on');
  }
  if (!(calibrationPercent >= 0 && calibrationPercent <= 100)) {
    throw new TypeError('calibrationPercent must be a number from 0 to 100');
  }
  refuseAsSetting('searchThreads', searchThreads);
  // A part of the machine's memory is rarely a whole number.
  refuseAsSetting('memoryLimit', memoryLimit && Math.floor(memoryLimit));
}

/** Refuses what the setting of that name does not take. */
function refuseAsSetting(name: 'searchThreads' | 'memoryLimit', value: number | undefined): void {
  if (value === undefined) return;
  try {
    SETTINGS[name].parse(value);
  } catch (error) {
    throw error instanceof BadValue
      ? new TypeError(`${name} must be ${error.message}`, { cause: error })
      : error;
  }
}

function engineOptions(
  folder: string,
  options: OpenOptions,
  models: ConfiguredModels | undefined,
): EngineOptions {
  const { exclusive = false, readOnly = false, timeoutMs = TIMEOUT_MS } = options;
  const { searchThreads, memoryLimit, calibrationPercent, allowFilesystem } = options;
  return {
    dataDir: resolve(folder),
    ...(searchThreads !== undefined && { searchThreads }),
    memory: { machineBytes: totalmem(), ...(memoryLimit !== undefined && { limitBytes: memoryLimit }) },
    ...(calibrationPercent !== undefined && { calibrationShare: calibrationPercent / 100 }),
    sharing: { exclusive, readOnly, timeoutMs: Math.min(timeoutMs, LONGEST_TIMEOUT_MS) },
    ...(allowFilesystem !== undefined && { allowedFileSystems: allowFilesystem }),
    ...(models !== undefined && { models }),
  };
}

async function openModels(models: readonly TextModel[] | undefined): Promise<ConfiguredModels | undefined> {
  if (models === undefined || models.length === 0) return undefined;
  try {
    return await ConfiguredModels.open(checkModels(models));
  } catch (error) {
    throw error instanceof BadModel ? new TypeError(`models ${error.message}`, { cause: error }) : error;
  }
}
