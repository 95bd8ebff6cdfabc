import { FlatPainter } from './flat-painter';
import { GlPainter } from './gl-painter';
import type { Painter } from './scene';

/** A painter for a canvas that has none yet: by WebGL, or else point by point. */
export function painterFor(canvas: HTMLCanvasElement): Painter | undefined {
  const gl = canvas.getContext('webgl2', { antialias: false, depth: false, premultipliedAlpha: true });
  if (gl !== null) return new GlPainter(gl);
  const context = canvas.getContext('2d');
  return context === null ? undefined : new FlatPainter(context);
}
