/** `npm run client-types`: writes the types of the client after a change of openapi/openapi.yaml. */
import { writeClientTypes } from './build/client-types.mjs';

await writeClientTypes();
