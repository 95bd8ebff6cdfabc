import { computed, signal } from '@preact/signals';
import type { Welcome } from './types';

/** What the server said of itself; undefined until it has answered. */
export const welcome = signal<Welcome | undefined>(undefined);

/** Whether the server has what only the dialect `qdrant` has: snapshots and aliases. */
export const isQdrant = computed(() => welcome.value?.dialect === 'qdrant');
