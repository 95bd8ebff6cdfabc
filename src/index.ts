/** What `import … from 'kithdb'` gives. */
export { KithClient, type ClientOptions } from './client/client';
export * from './client/errors';
export { connect, RemoteClient, type ConnectOptions, type NewAccessToken } from './client/remote-client';
export { EmbeddedClient, open, type EmbeddedOptions } from './embedded/client';
export type { EndpointModel, FolderModel, TextModel } from './models/model';
export type { Float32Client, Float32Result } from './client/answered-vectors';
export type { BatchLimits } from './client/batches';
export type { RetryPolicy } from './client/retries';
export type { HttpOptions, RetryingHttpOptions } from './client/http-transport';
export type { ByteTransport, Call, CallFlags, Envelope, Transport, VersionInfo } from './client/transport';
export type { CallOptions, ChangeFlags, CollectionFlags, PointId, ReadFlags, Schemas } from './client/types';
export { startServer, type TemporaryServer, type TemporaryServerOptions } from './temporary-server';
