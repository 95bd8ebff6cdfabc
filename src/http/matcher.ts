import type { Route } from './route-table';
import { decodeParams, type PathParams } from './target';

/** A path that the table knows, for one method. */
export interface Match {
  readonly route: Route;
  readonly params: PathParams;
}

/** One position in the tree of path segments. */
class Segment {
  readonly literals = new Map<string, Segment>();
  parameter: Segment | undefined;
  /** Routes that end here, by method. */
  readonly routes = new Map<string, Line>();
}

/** A route and the positions of its parameters among the segments. */
interface Line {
  readonly route: Route;
  readonly parameters: readonly { readonly name: string; readonly position: number }[];
}

/**
 * Finds routes by exact segments. It serves the hot lane, and gives Express' fallback the methods of a path.
 * A literal segment wins over a parameter where both have the method, as in Express when literals are mounted first.
 */
export class RouteMatcher {
  readonly #root = new Segment();
  /** The last match: consecutive requests often have the same path. */
  #last: { readonly method: string; readonly path: string; readonly match: Match } | undefined;

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      let node = this.#root;
      for (const segment of segmentsOf(route.path)) {
        if (segment.startsWith(':')) {
          node.parameter ??= new Segment();
          node = node.parameter;
        } else {
          let next = node.literals.get(segment);
          if (next === undefined) {
            next = new Segment();
            node.literals.set(segment, next);
          }
          node = next;
        }
      }
      const parameters = segmentsOf(route.path).flatMap((segment, position) =>
        segment.startsWith(':') ? [{ name: segment.slice(1), position }] : [],
      );
      node.routes.set(route.method, { route, parameters });
    }
  }

  /** The route of a method and a path without query; `HEAD` finds what `GET` finds. */
  match(method: string, path: string): Match | undefined {
    if (this.#last?.path === path && this.#last.method === method) {
      return this.#last.match;
    }
    const match = this.#find(method, path);
    if (match !== undefined) {
      this.#last = { method, path, match };
    }
    return match;
  }

  #find(method: string, path: string): Match | undefined {
    const segments = segmentsOf(path);
    const wanted = method === 'HEAD' ? 'GET' : method;
    const line = find(this.#root, segments, 0, wanted);
    if (line === undefined) {
      return undefined;
    }
    const rawParams: Record<string, string> = {};
    for (const { name, position } of line.parameters) {
      rawParams[name] = segments[position] ?? '';
    }
    return { route: line.route, params: decodeParams(rawParams) };
  }

  /** The methods of a path in the order of the table, `HEAD` beside `GET`; empty when no route has the path. */
  methods(path: string): readonly string[] {
    const methods = new Set<string>();
    collect(this.#root, segmentsOf(path), 0, methods);
    return [...methods];
  }
}

function segmentsOf(path: string): string[] {
  return path === '/' ? [] : path.slice(1).split('/');
}

function find(node: Segment, segments: readonly string[], depth: number, method: string): Line | undefined {
  const segment = segments[depth];
  if (segment === undefined) {
    return node.routes.get(method);
  }
  const literal = node.literals.get(segment);
  const found = literal && find(literal, segments, depth + 1, method);
  if (found !== undefined || node.parameter === undefined || segment === '') {
    return found;
  }
  return find(node.parameter, segments, depth + 1, method);
}

function collect(node: Segment, segments: readonly string[], depth: number, methods: Set<string>): void {
  const segment = segments[depth];
  if (segment === undefined) {
    for (const method of node.routes.keys()) {
      methods.add(method);
      if (method === 'GET') {
        methods.add('HEAD');
      }
    }
    return;
  }
  const literal = node.literals.get(segment);
  if (literal !== undefined) {
    collect(literal, segments, depth + 1, methods);
  }
  if (node.parameter !== undefined && segment !== '') {
    collect(node.parameter, segments, depth + 1, methods);
  }
}
