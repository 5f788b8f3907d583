// Points on a canvas by WebGL, so that 200,000 of them pan and zoom smoothly; by a plain canvas where there is no WebGL.
// Written out here because the libraries for it compile code at run time, which a strict content policy forbids.

export interface Painter {
  colour(colours: Float32Array): void;
  draw(view: View, size: number): void;
}

/** Where data coordinates lie on the canvas: pixel = scale · value + shift, y downwards. */
export interface View {
  sx: number;
  tx: number;
  sy: number;
  ty: number;
  width: number;
  height: number;
}

export function painter(canvas: HTMLCanvasElement, x: Float64Array, y: Float64Array): Painter {
  const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
  return gl ? new Shader(gl, x, y) : new Flat(canvas.getContext("2d")!, x, y);
}

const VERTEX = `#version 300 es
in vec2 place; in vec4 tint; out vec4 colour; uniform vec4 map; uniform float size;
void main() {
  gl_Position = vec4(place * map.xy + map.zw, 0.0, 1.0);
  gl_PointSize = tint.a > 0.9 ? size * 1.35 : size;
  colour = tint;
}`;
const FRAGMENT = `#version 300 es
precision mediump float; in vec4 colour; out vec4 paint;
void main() {
  float r = length(gl_PointCoord - 0.5);
  float a = colour.a * (1.0 - smoothstep(0.42, 0.5, r));
  if (a < 0.01) discard;
  paint = vec4(colour.rgb * a, a);
}`;

class Shader implements Painter {
  private tints: WebGLBuffer;
  private map: WebGLUniformLocation;
  private size: WebGLUniformLocation;
  private mean: [number, number];

  constructor(
    private gl: WebGL2RenderingContext,
    x: Float64Array,
    private y: Float64Array,
  ) {
    const program = link(gl);
    gl.useProgram(program);
    // About the first point: float32 has too few digits for points that are far away and close together.
    const start = Math.max(0, x.findIndex((v, i) => Number.isFinite(v) && Number.isFinite(y[i])));
    this.mean = [x[start] || 0, y[start] || 0];
    const places = new Float32Array(2 * x.length);
    for (let i = 0; i < x.length; i++) {
      places[2 * i] = x[i] - this.mean[0];
      places[2 * i + 1] = y[i] - this.mean[1];
    }
    feed(gl, program, "place", places, 2);
    this.tints = feed(gl, program, "tint", new Float32Array(4 * x.length), 4);
    this.map = gl.getUniformLocation(program, "map")!;
    this.size = gl.getUniformLocation(program, "size")!;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  colour(colours: Float32Array): void {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.tints);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, colours, this.gl.DYNAMIC_DRAW);
  }

  draw(view: View, size: number): void {
    const gl = this.gl;
    const ratio = window.devicePixelRatio || 1;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const fx = 2 / view.width;
    const fy = -2 / view.height;
    const [mx, my] = this.mean;
    gl.uniform4f(
      this.map, view.sx * fx, view.sy * fy,
      (view.sx * mx + view.tx) * fx - 1, (view.sy * my + view.ty) * fy + 1,
    );
    gl.uniform1f(this.size, size * ratio);
    gl.drawArrays(gl.POINTS, 0, this.y.length);
  }
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram()!;
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return program;
}

function feed(gl: WebGL2RenderingContext, program: WebGLProgram, name: string, data: Float32Array, size: number) {
  const buffer = gl.createBuffer()!;
  const at = gl.getAttribLocation(program, name);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
  gl.enableVertexAttribArray(at);
  gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
  return buffer;
}

class Flat implements Painter {
  private colours: Float32Array = new Float32Array(0);

  constructor(
    private context: CanvasRenderingContext2D,
    private x: Float64Array,
    private y: Float64Array,
  ) {}

  colour(colours: Float32Array): void {
    this.colours = colours;
  }

  draw(view: View, size: number): void {
    const { context: c, x, y, colours } = this;
    const ratio = window.devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, view.width, view.height);
    for (let i = 0; i < x.length; i++) {
      const [r, g, b, a] = colours.subarray(4 * i, 4 * i + 4);
      c.fillStyle = `rgba(${255 * r}, ${255 * g}, ${255 * b}, ${a})`;
      c.beginPath();
      c.arc(view.sx * x[i] + view.tx, view.sy * y[i] + view.ty, size / 2, 0, 7);
      c.fill();
    }
  }
}

/** Points in square cells, so that the one under the pointer is found without looking at all. */
export class Nearby {
  private cells = new Map<number, number[]>();
  private low: [number, number];
  private step: [number, number];
  private static readonly SIDE = 256;

  constructor(
    private x: Float64Array,
    private y: Float64Array,
  ) {
    const [x0, x1] = extent(x);
    const [y0, y1] = extent(y);
    this.low = [x0, y0];
    this.step = [(x1 - x0) / Nearby.SIDE || 1, (y1 - y0) / Nearby.SIDE || 1];
    for (let i = 0; i < x.length; i++) {
      const key = this.key(this.cell(0, x[i]), this.cell(1, y[i]));
      if (!Number.isNaN(key)) (this.cells.get(key) ?? this.cells.set(key, []).get(key)!).push(i);
    }
  }

  private cell(axis: 0 | 1, value: number): number {
    return Math.floor((value - this.low[axis]) / this.step[axis]);
  }

  private key(i: number, j: number): number {
    return i * 1000 + j;
  }

  /** The row of the nearest point within `reach` pixels of (px, py), or -1. */
  find(view: View, px: number, py: number, reach: number): number {
    const [a, b] = [(px - reach - view.tx) / view.sx, (px + reach - view.tx) / view.sx];
    const [c, d] = [(py + reach - view.ty) / view.sy, (py - reach - view.ty) / view.sy];
    let best = -1;
    let least = reach * reach;
    const [i0, i1] = [Math.max(0, this.cell(0, a)), Math.min(Nearby.SIDE, this.cell(0, b))];
    const [j0, j1] = [Math.max(0, this.cell(1, c)), Math.min(Nearby.SIDE, this.cell(1, d))];
    for (let i = i0; i <= i1; i++)
      for (let j = j0; j <= j1; j++)
        for (const row of this.cells.get(this.key(i, j)) ?? []) {
          const dx = view.sx * this.x[row] + view.tx - px;
          const dy = view.sy * this.y[row] + view.ty - py;
          if (dx * dx + dy * dy < least) [best, least] = [row, dx * dx + dy * dy];
        }
    return best;
  }
}

export function extent(values: Float64Array): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) if (Number.isFinite(v)) [low, high] = [Math.min(low, v), Math.max(high, v)];
  return low <= high ? [low, high] : [0, 1];
}
