import { channelsOf, OPACITY, type Painter, type Scene } from './scene';
import { diameterOf, type View } from './view';

/** Colours that the program has room for. */
const MAX_COLOURS = 16;

const VERTEX = `#version 300 es
in vec2 origin;
in vec2 place;
in float code;
in float mark;
uniform vec2 centre;
uniform vec2 scale;
uniform float share;
uniform float size;
uniform float pass;
uniform vec3 palette[${MAX_COLOURS}];
uniform vec3 opacity;
out vec4 colour;
void main() {
  vec2 at = (mix(origin, place, share) - centre) * scale;
  // Points that are not of this pass are outside of what is seen.
  bool isOther = pass >= 0.0 && mark != pass;
  gl_Position = isOther ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(at, 0.0, 1.0);
  gl_PointSize = mark > 0.5 ? size * 1.4 : size;
  float alpha = pass < 0.0 ? opacity.x : mark > 0.5 ? opacity.y : opacity.z;
  colour = vec4(palette[int(code)] * alpha, alpha);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour;
out vec4 shown;
void main() {
  float distance = length(gl_PointCoord - 0.5) * 2.0;
  float soft = fwidth(distance);
  shown = colour * (1.0 - smoothstep(1.0 - soft, 1.0, distance));
}`;

type Uniform = 'centre' | 'scale' | 'share' | 'size' | 'pass' | 'palette' | 'opacity';

/** Draws all points in one call: a frame takes the page no time, however many there are. */
export class GlPainter implements Painter {
  readonly #gl: WebGL2RenderingContext;
  #program: WebGLProgram | undefined;
  readonly #uniforms = new Map<Uniform, WebGLUniformLocation | null>();
  #scene: Scene | undefined;
  #last: [View, number, number] | undefined;
  readonly #lost = (event: Event): void => {
    // It is given back later.
    event.preventDefault();
    this.#program = undefined;
  };
  readonly #restored = (): void => {
    this.#begin();
    if (this.#scene !== undefined) this.show(this.#scene);
    if (this.#last !== undefined) this.draw(...this.#last);
  };

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    gl.canvas.addEventListener('webglcontextlost', this.#lost);
    gl.canvas.addEventListener('webglcontextrestored', this.#restored);
    this.#begin();
  }

  #begin(): void {
    const gl = this.#gl;
    const program = gl.createProgram();
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(kind);
      if (shader === null) return;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    ['origin', 'place', 'code', 'mark'].forEach((name, at) => {
      gl.bindAttribLocation(program, at, name);
    });
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    for (const name of ['centre', 'scale', 'share', 'size', 'pass', 'palette', 'opacity'] as const) {
      this.#uniforms.set(name, gl.getUniformLocation(program, name));
    }
    this.#program = program;
  }

  show(scene: Scene): void {
    const before = this.#scene;
    this.#scene = scene;
    if (this.#program === undefined) return;
    const gl = this.#gl;
    const isNew = before !== scene;
    const attribute = (at: number, data: Float32Array | Uint8Array, components: number): void => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(at);
      const kind = data instanceof Float32Array ? gl.FLOAT : gl.UNSIGNED_BYTE;
      gl.vertexAttribPointer(at, components, kind, false, 0, 0);
    };
    // What did not change is in the memory of the graphics already.
    const hasChanged = (key: 'from' | 'to' | 'codes'): boolean => !isNew || before?.[key] !== scene[key];
    if (hasChanged('from')) this.#replace(0, scene.from, 2, attribute);
    if (hasChanged('to')) this.#replace(1, scene.to, 2, attribute);
    if (hasChanged('codes')) this.#replace(2, scene.codes, 1, attribute);
    this.#replace(3, scene.marks ?? new Uint8Array(scene.codes.length), 1, attribute);
    const palette = new Float32Array(MAX_COLOURS * 3);
    scene.palette.slice(0, MAX_COLOURS).forEach((colour, at) => {
      palette.set(channelsOf(colour), at * 3);
    });
    gl.uniform3fv(this.#at('palette'), palette);
  }

  #replace(
    at: number,
    data: Float32Array | Uint8Array,
    components: number,
    attribute: (at: number, data: Float32Array | Uint8Array, components: number) => void,
  ): void {
    const gl = this.#gl;
    const old = gl.getVertexAttrib(at, gl.VERTEX_ATTRIB_ARRAY_BUFFER_BINDING) as WebGLBuffer | null;
    attribute(at, data, components);
    gl.deleteBuffer(old);
  }

  draw(view: View, share: number, ratio: number): void {
    this.#last = [view, share, ratio];
    const scene = this.#scene;
    if (this.#program === undefined || scene === undefined) return;
    const gl = this.#gl;
    const count = scene.codes.length;
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.#at('centre'), view.x, view.y);
    gl.uniform2f(this.#at('scale'), (2 * view.scale) / view.width, (2 * view.scale) / view.height);
    gl.uniform1f(this.#at('share'), share);
    gl.uniform1f(this.#at('size'), diameterOf(view, count) * ratio);
    gl.uniform3f(this.#at('opacity'), OPACITY.usual, OPACITY.marked, OPACITY.other);
    // Marked ones lie above the others.
    for (const pass of scene.marks === undefined ? [-1] : [0, 1]) {
      gl.uniform1f(this.#at('pass'), pass);
      gl.drawArrays(gl.POINTS, 0, count);
    }
  }

  #at(name: Uniform): WebGLUniformLocation | null {
    return this.#uniforms.get(name) ?? null;
  }

  dispose(): void {
    const { canvas } = this.#gl;
    canvas.removeEventListener('webglcontextlost', this.#lost);
    canvas.removeEventListener('webglcontextrestored', this.#restored);
    // Browsers keep few contexts; this one is not waited for to be collected.
    this.#gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}
