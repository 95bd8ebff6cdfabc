const LEAST_CHARACTERS = 12;
const MAX_BYTES = 1024;

interface Rule {
  readonly holds: (password: string) => boolean;
  /** Completes "The password must …". */
  readonly demand: string;
}

const RULES: readonly Rule[] = [
  {
    holds: (password) => Array.from(password).length >= LEAST_CHARACTERS,
    demand: `have at least ${LEAST_CHARACTERS} characters`,
  },
  { holds: (password) => /\p{Lu}/u.test(password), demand: 'contain an upper-case letter' },
  { holds: (password) => /\p{Ll}/u.test(password), demand: 'contain a lower-case letter' },
  { holds: (password) => /\p{Nd}/u.test(password), demand: 'contain a digit' },
  { holds: (password) => /[^\p{L}\p{N}\s]/u.test(password), demand: 'contain a special character' },
  { holds: (password) => password.toLowerCase() !== 'admin', demand: 'not be the username' },
  {
    holds: (password) => Buffer.byteLength(password) <= MAX_BYTES,
    demand: `have at most ${MAX_BYTES} bytes`,
  },
];

/** The sentence that names each rule a new password breaks (C3.3), or undefined for a good one. */
export function refusePassword(password: string): string | undefined {
  const broken = RULES.filter((rule) => !rule.holds(password)).map((rule) => rule.demand);
  return broken.length === 0 ? undefined : `The password must ${broken.join('; it must ')}`;
}
