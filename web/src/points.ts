// Points by WebGL, so that 200,000 of them pan and zoom smoothly; by a plain canvas where there is no WebGL.
// Written out here because the libraries for it compile code at run time, which a strict content policy forbids.
// One context draws the points of every chart and each copies its picture: browsers allow a page only some sixteen.

/** Where data coordinates lie on the canvas: pixel = scale · value + shift, y downwards. */
export interface View {
  sx: number;
  tx: number;
  sy: number;
  ty: number;
  width: number;
  height: number;
}

/** The places of one chart's points. `paint` draws them on a canvas of `ratio` dots a pixel. */
export interface Cloud {
  paint(target: CanvasRenderingContext2D, tints: Float32Array, view: View, size: number, ratio: number): void;
}

/** Up to so many points a plain canvas is as quick. */
const FEW = 3_000;

export function cloud(x: Float64Array, y: Float64Array): Cloud {
  const shader = x.length > FEW ? Shader.shared() : null;
  return shader ? new Shaded(shader, x, y) : new Flat(x, y);
}

/** A darker rim keeps light colours visible on white paper; points smaller than this would be all rim. */
const RIMMED = 8;

/** Opacity from which a point is a selected one: those are drawn last, and larger. */
const CHOSEN = 0.9;

const VERTEX = `#version 300 es
in vec2 place; in vec4 tint; out vec4 colour; uniform vec4 map; uniform float size; uniform bool chosen;
void main() {
  bool drawn = (tint.a > ${CHOSEN}) == chosen;
  gl_Position = drawn ? vec4(place * map.xy + map.zw, 0.0, 1.0) : vec4(9.0, 9.0, 9.0, 1.0);
  gl_PointSize = chosen ? size * 1.35 : size;
  colour = tint;
}`;
const FRAGMENT = `#version 300 es
precision mediump float; in vec4 colour; out vec4 paint;
void main() {
  float r = length(gl_PointCoord - 0.5);
  float a = colour.a * (1.0 - smoothstep(0.42, 0.5, r));
  if (a < 0.01) discard;
  paint = vec4(colour.rgb * (1.0 - 0.25 * smoothstep(0.28, 0.42, r)) * a, a);
}`;

class Shader {
  private static only: Shader | null | undefined;
  readonly canvas: HTMLCanvasElement;
  readonly gl: WebGL2RenderingContext;
  private program: WebGLProgram;
  private tints: WebGLBuffer;
  private fed: Float32Array | null = null;

  /** The one of this page, or null where there is no WebGL. */
  static shared(): Shader | null {
    if (Shader.only === undefined) {
      const gl = document.createElement("canvas").getContext("webgl2", { premultipliedAlpha: true });
      Shader.only = gl ? new Shader(gl) : null;
    }
    return Shader.only;
  }

  private constructor(gl: WebGL2RenderingContext) {
    this.gl = gl;
    this.canvas = gl.canvas as HTMLCanvasElement;
    this.program = link(gl);
    this.tints = gl.createBuffer()!;
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Points at `places`, in the upper left corner of the canvas. map: clip = map.xy · place + map.zw. */
  draw(places: WebGLBuffer, n: number, tints: Float32Array, map: number[], size: number, width: number, height: number): void {
    const { gl, canvas } = this;
    if (canvas.width < width) canvas.width = width;
    if (canvas.height < height) canvas.height = height;
    gl.viewport(0, canvas.height - height, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.attribute("place", places, 2);
    this.attribute("tint", this.tints, 4);
    if (this.fed !== tints) gl.bufferData(gl.ARRAY_BUFFER, (this.fed = tints), gl.DYNAMIC_DRAW);
    gl.uniform4fv(this.at("map"), map);
    gl.uniform1f(this.at("size"), size);
    for (const chosen of [0, 1]) {
      gl.uniform1i(this.at("chosen"), chosen);
      gl.drawArrays(gl.POINTS, 0, n);
    }
  }

  private at(name: string): WebGLUniformLocation | null {
    return this.gl.getUniformLocation(this.program, name);
  }

  private attribute(name: string, buffer: WebGLBuffer, size: number): void {
    const { gl } = this;
    const at = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
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

class Shaded implements Cloud {
  private places: WebGLBuffer;
  private low: [number, number];
  private span: [number, number];

  constructor(
    private shader: Shader,
    private x: Float64Array,
    private y: Float64Array,
  ) {
    const [[x0, x1], [y0, y1]] = [extent(x), extent(y)];
    this.low = [x0, y0];
    this.span = [x1 - x0 || 1, y1 - y0 || 1];
    const { gl } = shader;
    this.places = gl.createBuffer()!;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.bufferData(gl.ARRAY_BUFFER, this.scaled(), gl.STATIC_DRAW);
  }

  /** Between 0 and 1: float32 has too few digits for points that are far away and close together. */
  private scaled(): Float32Array {
    const places = new Float32Array(2 * this.x.length);
    const away = 1e6;
    for (let i = 0; i < this.x.length; i++) {
      const [u, v] = [(this.x[i] - this.low[0]) / this.span[0], (this.y[i] - this.low[1]) / this.span[1]];
      const seen = Number.isFinite(u) && Number.isFinite(v);
      places[2 * i] = seen ? u : away;
      places[2 * i + 1] = seen ? v : away;
    }
    return places;
  }

  paint(target: CanvasRenderingContext2D, tints: Float32Array, view: View, size: number, ratio: number): void {
    if (this.shader.gl.isContextLost()) return new Flat(this.x, this.y).paint(target, tints, view, size, ratio);
    const [fx, fy] = [2 / view.width, -2 / view.height];
    const [[x0, y0], [w, ht]] = [this.low, this.span];
    const map = [
      view.sx * w * fx, view.sy * ht * fy, (view.sx * x0 + view.tx) * fx - 1, (view.sy * y0 + view.ty) * fy + 1,
    ];
    const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
    this.shader.draw(this.places, this.x.length, tints, map, size * ratio, width, height);
    target.drawImage(this.shader.canvas, 0, 0, width, height, 0, 0, width, height);
  }
}

class Flat implements Cloud {
  constructor(
    private x: Float64Array,
    private y: Float64Array,
  ) {}

  paint(target: CanvasRenderingContext2D, tints: Float32Array, view: View, size: number, ratio: number): void {
    target.lineWidth = ratio;
    for (const chosen of [false, true])
      for (let i = 0; i < this.x.length; i++) {
        const [r, g, b, a] = tints.subarray(4 * i, 4 * i + 4);
        if (a > CHOSEN !== chosen || !Number.isFinite(this.x[i] + this.y[i])) continue;
        const [px, py] = [view.sx * this.x[i] + view.tx, view.sy * this.y[i] + view.ty];
        target.fillStyle = `rgba(${255 * r}, ${255 * g}, ${255 * b}, ${a})`;
        target.beginPath();
        target.arc(px * ratio, py * ratio, ((chosen ? 0.675 : 0.5) * size - 0.5) * ratio, 0, 7);
        target.fill();
        if (size < RIMMED) continue;
        target.strokeStyle = `rgba(${175 * r}, ${175 * g}, ${175 * b}, ${a})`;
        target.stroke();
      }
  }
}

export function extent(values: Float64Array): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) if (Number.isFinite(v)) [low, high] = [Math.min(low, v), Math.max(high, v)];
  return low <= high ? [low, high] : [0, 1];
}
