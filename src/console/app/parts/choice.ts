/** What can be chosen in a select or between segments. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  /** One sentence on what it means; that of the chosen one is shown. */
  readonly about?: string;
}
