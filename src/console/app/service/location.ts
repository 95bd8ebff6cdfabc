import { signal } from '@preact/signals';

/** Where the user is: the decoded segments behind `#/`. The server knows one page only. */
export const place = signal<readonly string[]>(read());

window.addEventListener('hashchange', () => {
  place.value = read();
});

function read(): readonly string[] {
  return window.location.hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decode);
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The link of a place. */
export function linkTo(...segments: readonly string[]): string {
  return `#/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`;
}

export function goTo(...segments: readonly string[]): void {
  window.location.hash = linkTo(...segments);
}
