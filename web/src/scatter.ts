// A scatter of the rows: hover, zoom, lasso, keyboard; selection and colours are shared with all the others.
import { h, short, svg, ticks } from "./dom";
import { extent, Nearby, painter, type Painter, type View } from "./points";
import { numbers, type RowsChart } from "./report";
import { css, sequential, type State } from "./state";

const MARGIN = { left: 56, right: 16, top: 12, bottom: 44 };
const HEIGHT = 420;
const REACH = 9;

interface Window2 {
  x: [number, number];
  y: [number, number];
}

export class Scatter {
  readonly node: HTMLElement;
  private canvas = h("canvas");
  private overlay = svg("svg", { class: "overlay", "aria-hidden": "true" });
  private tip = h("div", { class: "tip", role: "status", hidden: true });
  private x: Float64Array;
  private y: Float64Array;
  private home: Window2;
  private window: Window2;
  private painter: Painter;
  private nearby: Nearby | null = null;
  private lasso: [number, number][] | null = null;
  private drag: { from: [number, number]; window: Window2 } | null = null;
  private lassoMode = false;
  private width = 640;

  constructor(
    private chart: RowsChart,
    private state: State,
  ) {
    this.x = numbers(chart.x);
    this.y = numbers(chart.y);
    this.home = this.window = this.whole();
    this.painter = painter(this.canvas, this.x, this.y);
    const stage = h(
      "div",
      {
        class: "stage",
        tabindex: 0,
        role: "img",
        "aria-label": `${chart.title}: ${this.x.length} points, ${chart.xlabel} against ${chart.ylabel}. Arrow keys move, plus and minus zoom, 0 resets.`,
        onwheel: (e: WheelEvent) => this.wheel(e),
        onpointerdown: (e: PointerEvent) => this.down(e),
        onpointermove: (e: PointerEvent) => this.move(e),
        onpointerup: (e: PointerEvent) => this.up(e),
        onpointerleave: () => (this.tip.hidden = true),
        ondblclick: () => this.reset(),
        onkeydown: (e: KeyboardEvent) => this.key(e),
      },
      this.canvas, this.overlay as unknown as Node, this.tip,
    );
    this.node = h("div", { class: "scatter" }, this.tools(), stage);
    state.listen(() => this.paint());
    new ResizeObserver(() => this.resize(stage.clientWidth)).observe(stage);
  }

  private whole(): Window2 {
    const x = extent(this.x);
    const y = extent(this.y);
    const marks = [
      ...(this.chart.arrows ?? []).map((a) => [a.x, a.y]),
      ...(this.chart.ellipses ?? []).flatMap((e) => [[e.x - e.a, e.y - e.a], [e.x + e.a, e.y + e.a]]),
    ];
    for (const [px, py] of marks) {
      [x[0], x[1]] = [Math.min(x[0], px), Math.max(x[1], px)];
      [y[0], y[1]] = [Math.min(y[0], py), Math.max(y[1], py)];
    }
    return { x: pad(x), y: pad(y) };
  }

  private tools(): HTMLElement {
    const lasso = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
      this.lassoMode = !this.lassoMode;
      lasso.setAttribute("aria-pressed", String(this.lassoMode));
    } }, "Lasso");
    const out = h("button", { type: "button", onclick: () => this.reset() }, "Reset view");
    const clear = h("button", { type: "button", onclick: () => this.state.select([]) }, "Clear selection");
    return h("div", { class: "tools" }, lasso, out, clear);
  }

  // ---- where things are -------------------------------------------------------------------------------

  private view(): View {
    const { x, y } = this.window;
    const [w, ht] = [this.width - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom];
    let [sx, sy] = [w / (x[1] - x[0]), ht / (y[1] - y[0])];
    if (this.chart.equal) sx = sy = Math.min(sx, sy);
    const [cx, cy] = [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2];
    return {
      sx, tx: MARGIN.left + w / 2 - sx * cx, sy: -sy, ty: MARGIN.top + ht / 2 + sy * cy,
      width: this.width, height: HEIGHT,
    };
  }

  private resize(width: number): void {
    if (width <= 0) return;
    this.width = width;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = HEIGHT * ratio;
    this.canvas.style.height = `${HEIGHT}px`;
    this.paint();
  }

  reset(): void {
    this.window = this.home;
    this.paint();
  }

  // ---- painting ---------------------------------------------------------------------------------------

  paint(): void {
    const n = this.x.length;
    const { colours } = this.state.colouring;
    const chosen = this.state.selected;
    const faint = chosen.size > 0;
    const alpha = n > 50_000 ? 0.35 : n > 5_000 ? 0.55 : 0.8;
    const tints = new Float32Array(4 * n);
    for (let i = 0; i < n; i++) {
      tints.set(colours[i] ?? [0.5, 0.5, 0.5], 4 * i);
      tints[4 * i + 3] = faint ? (chosen.has(i) ? 1 : 0.12) : alpha;
    }
    this.painter.colour(tints);
    this.redraw();
  }

  private redraw(): void {
    const view = this.view();
    const size = this.x.length > 50_000 ? 2.5 : this.x.length > 5_000 ? 4 : this.x.length > 500 ? 6 : 8;
    this.painter.draw(view, size);
    this.overlay.setAttribute("width", String(this.width));
    this.overlay.setAttribute("height", String(HEIGHT));
    this.overlay.replaceChildren(...this.density(view), ...this.axes(view), ...this.extras(view), ...this.loop());
  }

  /** All rows as shades, behind the sample of them that are points. */
  private density(view: View): SVGElement[] {
    const d = this.chart.density;
    if (!d) return [];
    const counts = numbers(d.counts);
    const top = Math.log1p(counts.reduce((a, b) => Math.max(a, b), 0));
    const [w, ht] = [(d.x1 - d.x0) / d.width, (d.y1 - d.y0) / d.height];
    const found: SVGElement[] = [];
    counts.forEach((count, at) => {
      if (!count) return;
      const [i, j] = [at % d.width, Math.floor(at / d.width)];
      found.push(svg("rect", {
        x: view.sx * (d.x0 + i * w) + view.tx, y: view.sy * (d.y0 + (j + 1) * ht) + view.ty,
        width: view.sx * w + 0.5, height: -view.sy * ht + 0.5,
        fill: css(sequential(Math.log1p(count) / top)), opacity: 0.35,
      }));
    });
    return found;
  }

  private axes(view: View): SVGElement[] {
    const [x0, x1] = [MARGIN.left, this.width - MARGIN.right];
    const [y0, y1] = [MARGIN.top, HEIGHT - MARGIN.bottom];
    const found: SVGElement[] = [];
    for (const v of ticks((x0 - view.tx) / view.sx, (x1 - view.tx) / view.sx, 7)) {
      const px = view.sx * v + view.tx;
      found.push(svg("line", { class: "grid", x1: px, x2: px, y1: y0, y2: y1 }));
      found.push(svg("text", { class: "tick", x: px, y: y1 + 16, "text-anchor": "middle" }, short(v)));
    }
    for (const v of ticks((y1 - view.ty) / view.sy, (y0 - view.ty) / view.sy, 6)) {
      const py = view.sy * v + view.ty;
      found.push(svg("line", { class: "grid", x1: x0, x2: x1, y1: py, y2: py }));
      found.push(svg("text", { class: "tick", x: x0 - 6, y: py + 4, "text-anchor": "end" }, short(v)));
    }
    found.push(svg("text", { class: "label", x: (x0 + x1) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, this.chart.xlabel));
    found.push(svg("text", {
      class: "label", transform: `translate(14 ${(y0 + y1) / 2}) rotate(-90)`, "text-anchor": "middle",
    }, this.chart.ylabel));
    return found;
  }

  private extras(view: View): SVGElement[] {
    const at = (x: number, y: number): [number, number] => [view.sx * x + view.tx, view.sy * y + view.ty];
    const found: SVGElement[] = [];
    for (const line of this.chart.lines ?? []) {
      const vertical = line.x !== undefined;
      const [px, py] = at(line.x ?? 0, line.y ?? 0);
      found.push(svg("line", {
        class: "limit", x1: vertical ? px : MARGIN.left, x2: vertical ? px : this.width - MARGIN.right,
        y1: vertical ? MARGIN.top : py, y2: vertical ? HEIGHT - MARGIN.bottom : py,
      }));
      found.push(svg("text", {
        class: "name", x: vertical ? px + 4 : this.width - MARGIN.right, y: vertical ? MARGIN.top + 12 : py - 4,
        "text-anchor": vertical ? "start" : "end",
      }, line.label));
    }
    for (const e of this.chart.ellipses ?? []) {
      const [px, py] = at(e.x, e.y);
      found.push(svg("ellipse", {
        class: "ellipse", rx: e.a * view.sx, ry: -e.b * view.sy,
        transform: `translate(${px} ${py}) rotate(${(-e.angle * 180) / Math.PI})`,
      }));
      found.push(svg("text", { class: "name", x: px, y: py, "text-anchor": "middle" }, e.label));
    }
    for (const a of this.chart.arrows ?? []) {
      const [[x0, y0], [x1, y1]] = [at(0, 0), at(a.x, a.y)];
      found.push(svg("line", { class: "arrow", x1: x0, y1: y0, x2: x1, y2: y1 }));
      const side = x1 >= x0 ? "start" : "end";
      found.push(svg("text", { class: "name", x: x1 + (x1 >= x0 ? 4 : -4), y: y1, "text-anchor": side }, a.label));
    }
    return found;
  }

  private loop(): SVGElement[] {
    return this.lasso ? [svg("polygon", { class: "lasso", points: this.lasso.map((p) => p.join(",")).join(" ") })] : [];
  }

  // ---- hands ------------------------------------------------------------------------------------------

  private zoom(factor: number, px: number, py: number): void {
    const view = this.view();
    const [x, y] = [(px - view.tx) / view.sx, (py - view.ty) / view.sy];
    const about = ([a, b]: [number, number], c: number): [number, number] => [c + (a - c) * factor, c + (b - c) * factor];
    this.window = { x: about(this.window.x, x), y: about(this.window.y, y) };
    this.redraw();
  }

  private pan(dx: number, dy: number, from: Window2 = this.window): void {
    const view = this.view();
    const [x, y] = [-dx / view.sx, -dy / view.sy];
    this.window = { x: [from.x[0] + x, from.x[1] + x], y: [from.y[0] + y, from.y[1] + y] };
    this.redraw();
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.zoom(Math.exp(event.deltaY * 0.0015), event.offsetX, event.offsetY);
  }

  private down(event: PointerEvent): void {
    const at: [number, number] = [event.offsetX, event.offsetY];
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    if (this.lassoMode || event.shiftKey) this.lasso = [at];
    else this.drag = { from: at, window: this.window };
  }

  private move(event: PointerEvent): void {
    const [px, py] = [event.offsetX, event.offsetY];
    if (this.lasso) {
      this.lasso.push([px, py]);
      this.redraw();
    } else if (this.drag) {
      this.pan(px - this.drag.from[0], py - this.drag.from[1], this.drag.window);
    } else {
      this.hover(px, py);
    }
  }

  private up(event: PointerEvent): void {
    if (this.lasso) {
      const loop = this.lasso;
      this.lasso = null;
      this.state.select(this.inside(loop));
    } else if (this.drag && Math.hypot(event.offsetX - this.drag.from[0], event.offsetY - this.drag.from[1]) < 3) {
      const row = this.near(event.offsetX, event.offsetY);
      if (row >= 0) this.state.select([row]);
    }
    this.drag = null;
  }

  private near(px: number, py: number): number {
    this.nearby ??= new Nearby(this.x, this.y);
    return this.nearby.find(this.view(), px, py, REACH);
  }

  private hover(px: number, py: number): void {
    const row = this.near(px, py);
    this.tip.hidden = row < 0;
    if (row < 0) return;
    const lines = [`${this.chart.xlabel}: ${short(this.x[row])}`, `${this.chart.ylabel}: ${short(this.y[row])}`];
    this.tip.replaceChildren(h("strong", {}, this.state.ids[row]), ...lines.map((line) => h("div", {}, line)));
    this.tip.style.left = `${Math.min(px + 12, this.width - 170)}px`;
    this.tip.style.top = `${py + 12}px`;
  }

  private inside(loop: [number, number][]): number[] {
    const view = this.view();
    const found: number[] = [];
    for (let i = 0; i < this.x.length; i++)
      if (contains(loop, view.sx * this.x[i] + view.tx, view.sy * this.y[i] + view.ty)) found.push(i);
    return found;
  }

  private key(event: KeyboardEvent): void {
    const [cx, cy] = [this.width / 2, HEIGHT / 2];
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.pan(40, 0), ArrowRight: () => this.pan(-40, 0),
      ArrowUp: () => this.pan(0, 40), ArrowDown: () => this.pan(0, -40),
      "+": () => this.zoom(0.8, cx, cy), "=": () => this.zoom(0.8, cx, cy), "-": () => this.zoom(1.25, cx, cy),
      "0": () => this.reset(), Escape: () => this.state.select([]),
    };
    if (!(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
  }

  // ---- pictures of it ---------------------------------------------------------------------------------

  /** The canvas and what lies over it as one SVG. */
  picture(): SVGElement {
    const copy = this.overlay.cloneNode(true) as SVGElement;
    this.painter.draw(this.view(), this.x.length > 5_000 ? 4 : 8);
    const image = svg("image", { href: this.canvas.toDataURL("image/png"), width: this.width, height: HEIGHT });
    copy.insertBefore(image, copy.firstChild);
    return copy;
  }
}

function pad([low, high]: [number, number]): [number, number] {
  const by = 0.06 * (high - low) || 1;
  return [low - by, high + by];
}

/** Whether a point is inside a polygon: a ray to the right crosses its sides an odd number of times. */
function contains(loop: [number, number][], px: number, py: number): boolean {
  let odd = false;
  for (let i = 0, j = loop.length - 1; i < loop.length; j = i++) {
    const [[xi, yi], [xj, yj]] = [loop[i], loop[j]];
    if (yi > py !== yj > py && px < ((xj - xi) * (py - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}
