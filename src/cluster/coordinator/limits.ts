/** What a token may reach (C15), as the chain of checks passes it on. */
interface Limits {
  readonly collections?: readonly {
    readonly name?: string;
    readonly prefix?: string;
    readonly permission: string;
  }[];
  readonly filter?: unknown;
}

/** The limits of one caller, applied to the names that users know. Replicas get the filter alone. */
export class CallerLimits {
  readonly #limits: Limits;

  /** @param text as JSON; none where absent */
  constructor(text: string | undefined) {
    this.#limits = text === undefined ? {} : (JSON.parse(text) as Limits);
  }

  /** Whether something may be done in a collection, or under an alias. */
  allows(name: string, permission: 'read' | 'write'): boolean {
    const { collections } = this.#limits;
    return (
      collections === undefined ||
      collections.some(
        (grant) =>
          (grant.name === name || (grant.prefix !== undefined && name.startsWith(grant.prefix))) &&
          grant.permission.split(',').includes(permission),
      )
    );
  }

  /** The limits for the replicas of a collection that may be reached; undefined where there are none. */
  get ofPoints(): string | undefined {
    const { filter } = this.#limits;
    return filter === undefined ? undefined : JSON.stringify({ filter });
  }
}
