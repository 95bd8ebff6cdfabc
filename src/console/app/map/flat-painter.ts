import { OPACITY, type Painter, type Scene } from './scene';
import { diameterOf, type View } from './view';

/** Draws point by point, where there is no WebGL. Points are squares, which take a fraction of the time of discs. */
export class FlatPainter implements Painter {
  #scene: Scene | undefined;

  constructor(private readonly context: CanvasRenderingContext2D) {}

  show(scene: Scene): void {
    this.#scene = scene;
  }

  draw(view: View, share: number, ratio: number): void {
    const scene = this.#scene;
    const { context } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    if (scene === undefined) return;
    for (const mark of scene.marks === undefined ? [undefined] : [0, 1]) {
      context.globalAlpha = mark === undefined ? OPACITY.usual : mark === 1 ? OPACITY.marked : OPACITY.other;
      scene.palette.forEach((colour, code) => {
        context.fillStyle = colour;
        this.#fill(view, scene, share, (at) => scene.codes[at] === code && scene.marks?.[at] === mark);
      });
    }
  }

  #fill(view: View, { from, to, codes }: Scene, share: number, isWanted: (at: number) => boolean): void {
    const size = diameterOf(view, codes.length);
    for (let at = 0; at < codes.length; at += 1) {
      if (!isWanted(at)) continue;
      const along = (axis: number): number => {
        const [a = 0, b = 0] = [from[at * 2 + axis], to[at * 2 + axis]];
        return a + (b - a) * share;
      };
      const x = view.width / 2 + (along(0) - view.x) * view.scale;
      const y = view.height / 2 - (along(1) - view.y) * view.scale;
      this.context.fillRect(x - size / 2, y - size / 2, size, size);
    }
  }

  dispose(): void {
    this.#scene = undefined;
  }
}
