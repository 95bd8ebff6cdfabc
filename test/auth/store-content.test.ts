import {
  EMPTY_CONTENT,
  isUnused,
  parsePosition,
  positionText,
  type StoreContent,
} from '../../src/auth/store/change';

describe('the content of a store', () => {
  it('is unused only without an admin, an access token that was given out, and a decision', () => {
    const admin = {} as StoreContent['admin'];
    const settings = new Map(EMPTY_CONTENT.settings).set('auth_enabled', 'disabled');
    expect(isUnused(EMPTY_CONTENT)).toBe(true);
    for (const used of [{ admin }, { lastTokenId: 1 }, { settings }]) {
      expect(isUnused({ ...EMPTY_CONTENT, ...used })).toBe(false);
    }
  });
});

describe('the position of a store in the log of its cluster', () => {
  const position = { stream: 's', created: 'c', sequence: 7, operation: 'o' };

  it('is read as it was written', () => {
    expect(parsePosition(positionText(position))).toEqual(position);
  });

  it.each(['stream', 'created', 'sequence', 'operation'])('is none without %s', (field) => {
    for (const value of [undefined, true]) {
      const text = JSON.stringify({ ...position, [field]: value });
      expect(() => parsePosition(text)).toThrow('log_position');
    }
  });
});
