import type { CollectionInfo } from '../service/types';

const WORDS: Readonly<Record<CollectionInfo['status'], { word: string; about: string }>> = {
  green: { word: 'Up to date', about: 'Nothing waits to be indexed.' },
  yellow: { word: 'Indexing', about: 'Points are being indexed. Searches find them already.' },
  grey: { word: 'Waiting', about: 'Points wait to be indexed. Searches find them already.' },
  red: { word: 'Fault', about: 'The engine reports a fault.' },
};

/** The status of a collection as a word and a colour. */
export function StatusMark({ info }: { info: Pick<CollectionInfo, 'status'> }) {
  const { word, about } = WORDS[info.status];
  return (
    <span class={`status ${info.status}`} title={about}>
      {word}
    </span>
  );
}

export function statusSentence(info: CollectionInfo): string {
  const { error } = info.optimizer_status === 'ok' ? { error: undefined } : info.optimizer_status;
  return error ?? WORDS[info.status].about;
}
