import type { SqlConnection } from './connection';
import { parseInitialToken, type InitialToken, type StoreDamaged, type StoredSetting } from './port';
import {
  ADMIN_COLUMNS,
  countedRows,
  isCounted,
  storedAdmin,
  storedSetting,
  storedToken,
  tokenPages,
  type StoredRow,
} from './rows';

/** A row of the admin. */
export type AdminRow = StoredRow & { readonly kind: 'admin' };
/** A row of a setting. */
export type SettingRow = StoredRow & { readonly kind: 'setting' };
/** A row of an access token. */
export type TokenRow = StoredRow & { readonly kind: 'token' };

/** The rows of an open store, each verified by its digest when it is read. */
export class SqlRows {
  /** @param found closes the store, and gives the error */
  constructor(
    private readonly connection: SqlConnection,
    private readonly found: (what: string) => StoreDamaged,
  ) {}

  async admin(): Promise<AdminRow | undefined> {
    const [row] = await this.connection.rows(`SELECT ${ADMIN_COLUMNS}, row_digest FROM admin`);
    return row && this.#sound(storedAdmin(row));
  }

  async setting(name: string): Promise<SettingRow | undefined> {
    const [row] = await this.connection.rows('SELECT name, value, row_digest FROM setting WHERE name = ?', [
      name,
    ]);
    const found = row && storedSetting(row);
    return found === undefined || !isCounted(name) ? found : this.#sound(found);
  }

  /** The value of a setting. */
  async value(name: StoredSetting): Promise<string | undefined> {
    return (await this.setting(name))?.value;
  }

  async token(where: 'id = ?' | 'digest = ?', value: number | Buffer): Promise<TokenRow | undefined> {
    const [row] = await this.connection.rows(`SELECT * FROM access_token WHERE ${where}`, [value]);
    return row && this.#sound(storedToken(row));
  }

  /** Oldest first. */
  async *tokens(): AsyncGenerator<TokenRow> {
    for await (const page of tokenPages(this.connection)) {
      for (const row of page) yield this.#sound(row);
    }
  }

  async initialToken(): Promise<InitialToken | undefined> {
    const text = await this.value('initial_token');
    return text === undefined ? undefined : parseInitialToken(text);
  }

  /** Every row that the digest of the store counts. */
  async *counted(): AsyncGenerator<StoredRow> {
    for await (const row of countedRows(this.connection)) {
      yield this.#sound(row);
    }
  }

  /** Gives the row if its digest verifies: the file may have been damaged after the store was opened. */
  #sound<Row extends StoredRow>(row: Row): Row {
    if (!row.verifies) {
      throw this.found('a row is not what was written');
    }
    return row;
  }
}
