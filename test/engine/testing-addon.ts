import { join } from 'node:path';
import type * as Binding from '../../src/engine/binding';
import type * as Load from '../../src/engine/load';

/** The addon with the feature `testing`; the product is in the folder above. */
const FOLDER = join(__dirname, '..', '..', 'native', 'testing');

/** What engines that are opened later do differently: see `crates/node/src/test_switches.rs`. */
export interface TestSwitches {
  readonly panicsOnRequest?: boolean;
  readonly eager?: boolean;
  readonly crashPoint?: string;
  readonly panicIn?: string;
  readonly refuseFrom?: number;
}

interface TestingAddon {
  readonly setTestSwitches: (switches: TestSwitches) => void;
}

/** Takes the place of the function in `src/engine/load`: `jest.mock('…/src/engine/load', () => require('…/testing-addon'))`. */
export function loadBinding(): typeof Binding & TestingAddon {
  const load = jest.requireActual<typeof Load>('../../src/engine/load');
  return load.loadBinding({ native: FOLDER }) as typeof Binding & TestingAddon;
}
