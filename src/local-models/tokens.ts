/** What this uses of a tokenizer. */
export interface Tokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { readonly ids: readonly number[] };
}

/** Characters of a text that are looked at for each token that counts; more where that was too few. */
const CHARACTERS_A_TOKEN = 16;

/** The tokens of texts, cut to a number of them. */
export class TokenReader {
  /** What the model has around a text, such as `[CLS]` and `[SEP]`. */
  readonly #before: readonly number[];
  readonly #after: readonly number[];
  readonly #most: number;

  /** `mostTokens` includes those around a text. */
  constructor(
    private readonly tokenizer: Tokenizer,
    mostTokens: number,
  ) {
    const whole = tokenizer.encode('a', { add_special_tokens: true }).ids;
    const plain = tokenizer.encode('a', { add_special_tokens: false }).ids;
    const starts = [...Array(whole.length - plain.length + 1).keys()];
    const start = starts.find((from) => plain.every((token, at) => whole[from + at] === token)) ?? 0;
    this.#before = whole.slice(0, start);
    this.#after = whole.slice(start + plain.length);
    this.#most = Math.max(mostTokens - this.#before.length - this.#after.length, 1);
  }

  tokensOf(text: string): number[] {
    return [...this.#before, ...this.#plain(text), ...this.#after];
  }

  /**
   * The tokens of a text. Only the beginning of a long text is read: tokenizers take words one after the other.
   */
  #plain(text: string): readonly number[] {
    for (let characters = this.#most * CHARACTERS_A_TOKEN; ; characters *= 4) {
      const part = beginning(text, characters);
      const { ids } = this.tokenizer.encode(part, { add_special_tokens: false });
      // The last one may be of a word that was cut.
      if (part.length === text.length || ids.length > this.#most) return ids.slice(0, this.#most);
    }
  }
}

/** At most so many characters of a text, up to a space where there is one in the second half of them. */
function beginning(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const space = text.lastIndexOf(' ', characters);
  if (space > characters / 2) return text.slice(0, space);
  const code = text.charCodeAt(characters - 1);
  const isHalf = code >= 0xd800 && code < 0xdc00;
  return text.slice(0, isHalf ? characters - 1 : characters);
}
