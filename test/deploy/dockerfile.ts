/** One instruction of a Dockerfile, with its stage. */
export interface Instruction {
  /** The name of its stage, or its number. */
  readonly stage: string;
  readonly name: string;
  readonly text: string;
}

/** The instructions of a Dockerfile in their order: comments are left out, and continued lines are one. */
export function readDockerfile(text: string): readonly Instruction[] {
  const instructions: Instruction[] = [];
  let stage = '';
  let stages = 0;
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'));
  for (const line of lines.join('\n').replaceAll(/\\\n/g, ' ').split('\n')) {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    if (name === 'FROM') {
      stage = / AS (\w+)$/i.exec(rest)?.[1] ?? String(stages);
      stages += 1;
    }
    instructions.push({ stage, name, text: rest.replaceAll(/\s+/g, ' ').trim() });
  }
  return instructions;
}

/** What a COPY copies: from which stage (the build context where there is none), what, and to where. */
export function copied({ text }: Instruction): {
  from: string | undefined;
  sources: string[];
  target: string;
} {
  const words = text.split(' ');
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  const paths = words.filter((word) => !word.startsWith('--'));
  return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' };
}
