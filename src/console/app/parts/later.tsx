import type { ComponentType } from 'preact';
import { Failure, Waiting } from './notice';
import { useLoading } from '../service/loading';

interface Module<P> {
  readonly default: ComponentType<P>;
}

/** A page whose code is fetched when it is opened, so that the first view does not wait for it. */
export function later<P extends object>(what: string, load: () => Promise<Module<P>>): ComponentType<P> {
  return function Later(props: P) {
    const module = useLoading(load, []);
    if (module.value === undefined) {
      return module.error === undefined ? (
        <Waiting what={what} />
      ) : (
        <Failure error={module.error} retry={module.reload} />
      );
    }
    const Page = module.value.default;
    return <Page {...props} />;
  };
}
