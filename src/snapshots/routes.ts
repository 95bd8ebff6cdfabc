import { COLLECTION_PARAMETER, type ServiceRoute } from '../http/route-table';
import type { ServiceAnswer, ServiceCall } from '../http/service-route';
import { SnapshotRefusal } from './failure';
import { snapshotNameOf } from './location';
import { checkPriority, checksumOf, readRecoverBody } from './recover-body';
import type { SnapshotService } from './service';
import type { Owner } from './store';
import { readUpload } from './upload';

const COLLECTION_PATH = `/collections/:${COLLECTION_PARAMETER}/snapshots`;
const ONE = ':snapshot_name';
const failed = 'Snapshot operation failed';

/** The routes of snapshots (C12). */
export function snapshotRoutes(service: SnapshotService): readonly ServiceRoute[] {
  const route = (
    [method, path, permission]: readonly [ServiceRoute['method'], string, ServiceRoute['permission']],
    serve: (call: ServiceCall) => Promise<ServiceAnswer>,
    isAudited = true,
  ): ServiceRoute => ({
    ...{ kind: 'service', method, path, permission, failed, isAudited },
    serve: refusing(serve),
  });
  const listing = (path: string): ServiceRoute => route(['GET', path, 'read'], list(service), false);
  return [
    listing('/snapshots'),
    route(['POST', '/snapshots', 'write'], create(service)),
    route(['PUT', '/snapshots/recover', 'admin-jwt'], recoverAll(service)),
    route(['GET', `/snapshots/${ONE}`, 'admin-jwt'], download(service)),
    route(['DELETE', `/snapshots/${ONE}`, 'write'], remove(service)),
    listing(COLLECTION_PATH),
    route(['POST', COLLECTION_PATH, 'write'], create(service)),
    route(['PUT', `${COLLECTION_PATH}/recover`, 'write'], recover(service)),
    route(['POST', `${COLLECTION_PATH}/upload`, 'write'], upload(service)),
    route(['GET', `${COLLECTION_PATH}/${ONE}`, 'read'], download(service)),
    route(['DELETE', `${COLLECTION_PATH}/${ONE}`, 'write'], remove(service)),
    route(['PUT', `${COLLECTION_PATH}/${ONE}/recover`, 'write'], recoverNamed(service)),
  ];
}

type Serve = (call: ServiceCall) => Promise<ServiceAnswer>;

/** A refusal is an answer. */
function refusing(serve: Serve): Serve {
  return async (call) => {
    try {
      return await serve(call);
    } catch (error) {
      if (error instanceof SnapshotRefusal) return { failure: error.failure };
      throw error;
    }
  };
}

function collectionOf({ params }: ServiceCall): string {
  return params[COLLECTION_PARAMETER] ?? '';
}

function ownerOf(call: ServiceCall): Owner {
  return COLLECTION_PARAMETER in call.params ? { collection: collectionOf(call) } : 'all';
}

function nameOf({ params }: ServiceCall): string {
  return params['snapshot_name'] ?? '';
}

function list(service: SnapshotService): Serve {
  return async (call) => ({ result: await service.list(call.engine, ownerOf(call)) });
}

function create(service: SnapshotService): Serve {
  return async (call) => {
    const result = await service.create(call.engine, ownerOf(call), call.signal);
    call.note({ snapshot_name: result.name });
    return { result };
  };
}

function remove(service: SnapshotService): Serve {
  return async (call) => {
    await service.remove(call.engine, ownerOf(call), nameOf(call));
    return { result: true };
  };
}

function download(service: SnapshotService): Serve {
  return async (call) => {
    const { path, size, name } = await service.find(call.engine, ownerOf(call), nameOf(call));
    return { file: { path, bytes: size, name } };
  };
}

function recover(service: SnapshotService): Serve {
  return async (call) => {
    const { body, warnings } = await readRecoverBody(call);
    const { engine, signal } = call;
    const name = snapshotNameOf(body.location);
    call.note({ snapshot_name: name });
    await service.recover(engine, collectionOf(call), name, { checksum: body.checksum, signal });
    return { result: true, ...(warnings.length > 0 && { warnings }) };
  };
}

function recoverNamed(service: SnapshotService): Serve {
  return async (call) => {
    const { engine, signal } = call;
    await service.recover(engine, collectionOf(call), nameOf(call), { signal });
    return { result: true };
  };
}

function recoverAll(service: SnapshotService): Serve {
  return async (call) => {
    const { body, warnings } = await readRecoverBody(call);
    const { engine, signal } = call;
    const name = snapshotNameOf(body.location);
    call.note({ snapshot_name: name });
    await service.recoverAll(engine, name, { checksum: body.checksum, signal });
    return { result: true, ...(warnings.length > 0 && { warnings }) };
  };
}

function upload(service: SnapshotService): Serve {
  return async (call) => {
    const { engine, query, signal } = call;
    const checksum = checksumOf(query.get('checksum'));
    checkPriority(query.get('priority'));
    const owner = { collection: collectionOf(call) };
    await readUpload(call, (file) => service.recoverFrom(engine, owner, file, { checksum, signal }));
    return { result: true };
  };
}
