/** What a map shows, and how. */
import type { View } from './view';

/** What is drawn. The arrays stay as they are. */
export interface Scene {
  /** Where points were, and where they go, x and y in turn. */
  readonly from: Float32Array;
  readonly to: Float32Array;
  /** A colour of the palette for each. */
  readonly codes: Uint8Array;
  readonly palette: readonly string[];
  /** 1 for each that is marked; undefined where none is. */
  readonly marks: Uint8Array | undefined;
}

export interface Painter {
  /** Takes what is to be drawn from now on. */
  show: (scene: Scene) => void;
  /** Draws it, `share` of the way from the old places to the new ones. `ratio` are pixels of the device for one of the page. */
  draw: (view: View, share: number, ratio: number) => void;
  dispose: () => void;
}

/** How opaque points are: marked ones and others, where there are marked ones. */
export const OPACITY = { usual: 0.75, marked: 0.95, other: 0.2 };

/** The channels of a colour in hexadecimal digits, from 0 to 1. */
export function channelsOf(colour: string): [red: number, green: number, blue: number] {
  const channel = (from: number): number => parseInt(colour.slice(from, from + 2), 16) / 255;
  return [channel(1), channel(3), channel(5)];
}
