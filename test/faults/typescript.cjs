'use strict';

/**
 * Faults that tests plant into the TypeScript sources, one at a time: see docs/faults.md. A fault is a piece of a source
 * that is replaced when a test loads it, so nothing of it is in the sources or in `dist/`. The variable `PLANTED_FAULT`
 * names the one that is planted.
 */
const { join } = require('node:path');

const root = join(__dirname, '..', '..');

/** @type {Record<string, {what: string, file: string, find: string, replace: string}>} */
const TYPESCRIPT_FAULTS = {
  StoreNotSynced: {
    what: 'The store of authentication has `synchronous = OFF`.',
    file: 'src/auth/store/schema.ts',
    find: 'PRAGMA synchronous = FULL;',
    replace: 'PRAGMA synchronous = OFF;',
  },
  StoreHasLog: {
    what: 'The store of authentication has a log in place of a rollback journal.',
    file: 'src/auth/store/schema.ts',
    find: 'PRAGMA journal_mode = TRUNCATE;',
    replace: 'PRAGMA journal_mode = WAL;',
  },
  DigestNotSynced: {
    what: 'The digest of the store is not synced before the store commits.',
    file: 'src/files/synced.ts',
    find: 'await file.sync();',
    replace: '',
  },
  DigestNameNotSynced: {
    what: 'The name of the digest of the store is not synced.',
    file: 'src/auth/store/digest-file.ts',
    find: 'await syncFolder(this.folder);',
    replace: '',
  },
  DigestNotCompared: {
    what: 'A store is not compared with the digest beside it.',
    file: 'src/auth/store/verification.ts',
    find: 'const { digest } = recorded;',
    replace: 'return undefined; const { digest } = recorded;',
  },
  CatalogNotCompared: {
    what: "A store is not compared with the generation in the engine's catalog.",
    file: 'src/auth/store/catalog.ts',
    find: 'if (generation === 0 && noted > 0) {',
    replace: 'if (noted >= 0) return undefined; if (generation === 0 && noted > 0) {',
  },
  CatalogNotNoted: {
    what: "A change of the store is not noted in the engine's catalog.",
    file: 'src/auth/store/sql-store.ts',
    find: 'await this.file.catalog.note(next.generation);',
    replace: '',
  },
  UnknownStateOpens: {
    what: 'A setting that has no known value disables authentication.',
    file: 'src/auth/store/port.ts',
    find: 'AUTH_STATES.find((state) => state === text)',
    replace: "(AUTH_STATES.find((state) => state === text) ?? 'false')",
  },
  FailuresNotCounted: {
    what: 'Wrong passwords are not counted.',
    file: 'src/auth/login-throttle.ts',
    find: 'this.#failures.push(now);',
    replace: '',
  },
  DeletedTokenKnown: {
    what: 'A token that was deleted or replaced stays known.',
    file: 'src/auth/token-identities.ts',
    find: 'this.identities.clear();',
    replace: '',
  },
  ExpiredTokenTaken: {
    what: 'A token that has expired is taken.',
    file: 'src/auth/identity-cache.ts',
    find: 'nowMs >= token.expiresAt * 1000',
    replace: 'false',
  },
  LongJwtTaken: {
    what: 'A JWT that lives longer than the setting is taken.',
    file: 'src/auth/admin-jwt.ts',
    find: 'payload.exp - payload.iat <= this.lifetimeSeconds &&',
    replace: '',
  },
  OldJwtTaken: {
    what: 'A JWT from before the last change of the password is taken.',
    file: 'src/auth/admin-jwt.ts',
    find: 'payload[GENERATION] === generation',
    replace: 'true',
  },
  ForwardedIsLocal: {
    what: 'A caller behind a proxy on this machine counts as local.',
    file: 'src/auth/origin-guard.ts',
    find: 'PROXY_HEADERS.has(name) || CLIENT_WORDS.test(name)',
    replace: 'false',
  },
  SecondCredentialTaken: {
    what: 'Of two credentials of a kind the first counts.',
    file: 'src/http/authorization.ts',
    find: 'return authorizations > 1 || apiKeys > 1;',
    replace: 'return false;',
  },
  BodyNotLimited: {
    what: 'The size that a body announces is not limited.',
    file: 'src/http/body.ts',
    find: '(exchange.announcedBytes ?? 0) > limitBytes',
    replace: 'false',
  },
  AddressNotShared: {
    what: 'One address may hold all of a budget while others want it.',
    file: 'src/http/shares.ts',
    find: 'const shares = [{ held: this.counts.byNetwork.of(network), share: address }];',
    replace: 'const shares: { held: number; share: Share }[] = []; void [network, address];',
  },
  CredentialNotShared: {
    what: 'One credential may hold all of a budget while others want it.',
    file: 'src/http/shares.ts',
    find: 'shares.unshift({ held: this.counts.byCredential.of(credential), share });',
    replace: 'void share;',
  },
  StartQueueBypassed: {
    what: 'Requests start in the order in which they are read, however many one client has sent.',
    file: 'src/http/chain.ts',
    find: 'if (this.#starts.noteAlone(client)) {',
    replace: 'if (this.#starts.noteAlone(client) || client !== undefined) {',
  },
  EveryProxyTrusted: {
    what: 'What anybody says of the address of a client counts.',
    file: 'src/http/client-address.ts',
    find: 'return peer.trusted ? (',
    replace: 'return true ? (',
  },
  FirstForwardedTaken: {
    what: 'Behind a trusted proxy the address counts that the client has made up.',
    file: 'src/http/client-address.ts',
    find: "addressOfNode(nodes.at(-1 - proxies) ?? '')",
    replace: "addressOfNode(nodes.at(proxies) ?? '')",
  },
  GrowthNotCharged: {
    what: 'A body is charged for its first chunk alone.',
    file: 'src/http/body.ts',
    find: 'const refused = this.charge(capacity - this.#capacity);',
    replace: 'const refused = this.#filled === 0 ? this.charge(capacity) : undefined;',
  },
  AnnouncedCharged: {
    what: 'A body is charged for what it announces, and not for what has arrived.',
    file: 'src/http/body.ts',
    find: 'this.#filled === 0 ? filled : Math.max(filled, Math.min(2 * filled, this.length ?? this.limitBytes));',
    replace: 'Math.max(filled, this.length ?? filled);',
  },
  PaceNotWatched: {
    what: 'A body may come as slowly as its client likes.',
    file: 'src/http/body.ts',
    find: 'if (reading.isSlow(now, this.pace)) {',
    replace: 'if (now < 0) {',
  },
  NewestConnectionCut: {
    what: 'At the limit of connections the new one is cut, whatever the others do.',
    file: 'src/http/connection-limit.ts',
    find: 'const victim = this.#victim(newest);',
    replace: 'const victim: Connection | undefined = newest;',
  },
  IdlestConnectionKept: {
    what: 'At the limit of connections the one that was idle last is cut, and not the one that is idle for longest.',
    file: 'src/http/connection-limit.ts',
    find: 'const idle = largest.idle.first?.value;',
    replace: 'const idle = [...largest.idle].at(-1);',
  },
  StopWaitsForever: {
    what: 'A process whose stop hangs does not end.',
    file: 'src/process/owner.ts',
    find: 'this.#timer ??= setTimeout(() => {',
    replace: 'if (code < 2) return; this.#timer ??= setTimeout(() => {',
  },
  DimensionNotChecked: {
    what: 'The vectors of an endpoint may have another dimension than its model.',
    file: 'src/models/endpoint.ts',
    find: 'dimension !== undefined && found !== dimension',
    replace: 'false',
  },
  LimitsNotPassed: {
    what: 'The engine does not get what a token may reach.',
    file: 'src/http/engine-call.ts',
    find: 'limits: exchange.limits,',
    replace: 'limits: undefined,',
  },
  CallerNotPassed: {
    what: 'The engine does not get whose cursor is asked for.',
    file: 'src/http/engine-call.ts',
    find: 'caller: exchange.credential,',
    replace: 'caller: undefined,',
  },
  SnapshotChecksumIgnored: {
    what: 'A snapshot is recovered whose checksum is another one.',
    file: 'src/snapshots/service.ts',
    find: 'checksum !== undefined && checksum.toLowerCase() !== digest.sha256',
    replace: 'false',
  },
  LimitsNotForServer: {
    what: 'A token with limits may ask for what is about the whole server, snapshots included.',
    file: 'src/http/token-limits.ts',
    find: 'return forbidden(NEEDS_NO_LIMITS);',
    replace: 'return undefined;',
  },
  MisspeltLimitTaken: {
    what: 'A field that is not known is left out of a new token.',
    file: 'src/auth/routes/tokens.ts',
    find: 'onlyFields(FIELDS),',
    replace: '',
  },
  OrdersNotAudited: {
    what: 'What commands on the machine ask for leaves no line in the audit stream.',
    file: 'src/operations/control.ts',
    find: 'services.audit?.(',
    replace: 'void (',
  },
  BatchesNotHalved: {
    what: 'After a failure of the model as many texts are sent again as before.',
    file: 'src/models/reembedder.ts',
    find: 'Math.max(1, sent >> 1)',
    replace: 'sent',
  },
  RateNotKept: {
    what: 'A re-embedding does not wait for what its rate says.',
    file: 'src/models/reembedder.ts',
    find: 'if (next.rate !== undefined) {',
    replace: 'if (next.rate === 0) {',
  },
  LoopRemembersRevoked: {
    what: 'A further event loop keeps the identities that it knows when one is revoked.',
    file: 'src/event-loops/remote-authenticator.ts',
    find: 'if (generation !== this.#generation) {',
    replace: 'if (generation < this.#generation) {',
  },
  LateLookupRemembered: {
    what: 'A further event loop keeps an identity that was looked up before one was revoked.',
    file: 'src/event-loops/remote-authenticator.ts',
    find: 'this.#identities.remember(key, found, epoch)',
    replace: 'this.#identities.remember(key, found, this.#identities.epoch)',
  },
  LoopNeverClosed: {
    what: 'A further event loop is open while authentication is closed.',
    file: 'src/event-loops/remote-authenticator.ts',
    find: "return this.memory.authState === 'closed';",
    replace: 'return false;',
  },
};

const planted = TYPESCRIPT_FAULTS[process.env.PLANTED_FAULT ?? ''];

/** The source of a file, with the fault that is planted where it is in that file. */
function withFault(source, path) {
  if (planted === undefined || path !== join(root, planted.file)) return source;
  return withReplacement(source, planted);
}

/** @throws Error unless the source has the piece exactly once. */
function withReplacement(source, { file, find, replace }) {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${find}`);
  return parts.join(replace);
}

module.exports = { TYPESCRIPT_FAULTS, withFault, withReplacement };
