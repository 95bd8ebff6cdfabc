import { loadBinding } from './load';
import type { NativeFileSystem, NativeKernels } from './binding';

/** What a start would do about the file system of a folder. */
export type FileSystemVerdict = NativeFileSystem;

/** What a start would do about the file system of a folder, which need not exist (C18). */
export function fileSystemOf(folder: string, allowed: readonly string[]): FileSystemVerdict {
  return loadBinding().fileSystemOf(folder, [...allowed]);
}

/** Which instructions of this processor the engine uses. @throws Error where there is no engine for this platform. */
export function kernelsHere(): NativeKernels {
  return loadBinding().kernels();
}
