/** Counts refused rows. Those behind the row with which an interrupted command goes on are refused again. */
export class CountedRejects {
  #ordinals: number[] = [];

  constructor(private counted: number) {}

  add(ordinal: number): void {
    this.#ordinals.push(ordinal);
  }

  /** How many stood before this ordinal, which never becomes less. */
  before(ordinal: number): number {
    const later = this.#ordinals.filter((one) => one >= ordinal);
    this.counted += this.#ordinals.length - later.length;
    this.#ordinals = later;
    return this.counted;
  }
}
