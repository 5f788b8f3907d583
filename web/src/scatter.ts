// A scatter of the rows: hover, zoom, lasso, keyboard; selection and colours are shared with all the others.
import { Backdrop } from "./backdrop";
import { h, short, svg, writing } from "./dom";
import { whenLaidOut } from "./fresh";
import { thumbnail } from "./images";
import { type Box } from "./labels";
import { aroundPaper, onlySizes } from "./paper";
import { axesOf, firstPair, plane, type Pair, type Points } from "./planes";
import { cloud, extent, type Cloud, type View } from "./points";
import { EVERYWHERE, inside, Nearby, nearest, next, pixel, rectangle, type Place } from "./reach";
import { type RowsChart } from "./report";
import { styled } from "./save";
import { dot, over, shapes, under, type Span, type Wishes } from "./scene";
import { stature } from "./sheets";
import { opacity, type State } from "./state";
import { paper } from "./theme";
import { Tip } from "./tip";
import { tools } from "./tools";
import { Viewport } from "./viewport";

const REACH = 9;

/** Whether a place of the window is in view, or nearly. */
function inSight({ top, bottom }: DOMRect): boolean {
  return bottom > -AROUND && top < innerHeight + AROUND;
}

function count(n: number, words: string): string {
  return `${n.toLocaleString("en")} ${n === 1 ? "point" : "points"} ${words}`;
}

/** Pixels above and below the window that are painted too. */
const AROUND = 200;

/** The most rows whose picture, and print, has a shape for each; of more it has an image. */
const DRAWN = 5_000;

/** Dots a pixel of points that are printed as an image. */
const FINE = 3;

const KEYS = "Arrow keys go from point to point, Enter selects; L begins a rectangle there, which arrows stretch, and Enter selects the points in it. Shift with arrows moves the view, plus and minus zoom, 0 resets, Escape clears.";

export class Scatter {
  readonly node: HTMLElement;
  private canvas = h("canvas");
  private underlay = svg("svg", { class: "overlay", "aria-hidden": "true" });
  private overlay = svg("svg", { class: "overlay", "aria-hidden": "true" });
  private tip = new Tip();
  private heard = h("p", { class: "heard", role: "status" });
  private stage: HTMLElement;
  private points!: Points;
  private cloud!: Cloud;
  private port!: Viewport;
  private backdrop: Backdrop;
  private wishes: Wishes;
  private nearby: Nearby | null = null;
  private written: [(value: number) => string, (value: number) => string] | null = null;
  private lasso: Place[] | null = null;
  private drag: { from: Place; held: Span } | null = null;
  private lassoMode = false;
  /** The row where a rectangle begins that the keyboard stretches to the one in focus; -1 for none. */
  private corner = -1;
  private followed = -1;
  private seen = false;
  private waiting = false;
  /** Whether what is painted is no longer what it should be. */
  private stale = false;

  constructor(
    private chart: RowsChart,
    private state: State,
  ) {
    this.backdrop = new Backdrop(chart);
    this.wishes = state.wishes(chart.title, () => ({ naming: "auto", worth: "contribution", groups: new Set() }));
    this.stage = this.hands();
    this.look(firstPair(chart));
    this.node = h("div", { class: "scatter" }, this.tools(), ...this.backdrop.legend, this.stage, this.heard);
    state.listen(() => this.changed());
    whenLaidOut(this.stage, (width, height, place) => this.laid(width, height, place));
    aroundPaper(() => {
      this.resize(this.stage.clientWidth);
      if (this.stage.isConnected && !onlySizes()) this.paint();
    });
    new IntersectionObserver(([entry]) => {
      const before = this.visible;
      this.seen = entry.isIntersecting;
      if (!before) this.later();
    }, { rootMargin: `${AROUND}px` }).observe(this.stage);
  }

  /** Turns to two of the axes. */
  private look(pair: Pair): void {
    const wide = this.port?.width ?? 0;
    this.points = plane(this.chart, pair);
    this.port = new Viewport(this.points, () => this.later());
    this.resize(wide);
    this.cloud = cloud(this.points.x, this.points.y);
    this.nearby = this.written = null;
    const { x, xlabel, ylabel } = this.points;
    this.stage.setAttribute("aria-label", `${this.chart.title}: ${x.length} points, ${xlabel} against ${ylabel}. ${KEYS}`);
    this.later();
  }

  private hands(): HTMLElement {
    const on = {
      onwheel: (e: WheelEvent) => this.wheel(e), onpointerdown: (e: PointerEvent) => this.down(e),
      onpointermove: (e: PointerEvent) => this.move(e), onpointerup: (e: PointerEvent) => this.up(e),
      onpointercancel: () => this.drop(), onpointerleave: () => this.tip.hide(), ondblclick: () => this.port.show(),
      onkeydown: (e: KeyboardEvent) => this.key(e),
    };
    const said = { role: "application", "aria-roledescription": "scatter plot", tabindex: 0 };
    return h("div", { class: "stage", ...said, ...on }, this.underlay, this.canvas, this.overlay, this.tip.node);
  }

  private tools(): HTMLElement {
    return tools({
      chart: this.chart, state: this.state, wishes: this.wishes, axes: axesOf(this.chart), pair: this.points.pair, crowd: () => this.port.crowd,
      turn: (pair) => this.look(pair), zoom: (factor) => this.port.zoom(factor), show: (span) => this.port.show(span), again: () => this.later(),
      lasso: (on) => {
        this.lassoMode = on;
        this.stage.classList.toggle("lassoing", on);
      },
    });
  }

  // ---- painting ---------------------------------------------------------------------------------------

  private resize(width: number): void {
    if (width <= 0) return;
    this.port.width = width;
    this.port.stature = stature(this.stage);
    this.stage.style.setProperty("--wide", String(width));
    this.stage.style.setProperty("--tall", String(this.port.height));
    this.later();
  }

  /** Painted in the frame in which it is laid out, not in the next; the height that it then gets is its own. */
  private laid(width: number, height: number, place?: DOMRect): void {
    if (width <= 0 || (!this.stale && width === this.port.width && height === this.port.height)) return;
    this.seen ||= !this.visible && inSight(place ?? this.stage.getBoundingClientRect());
    this.resize(width);
    if (this.visible) this.paint();
  }

  /** Whether it is worth painting: of many rows only what can be seen is. */
  private get visible(): boolean {
    return this.seen || this.points.x.length <= DRAWN;
  }

  /** Once in a frame; what is not on the page is painted when it comes back. */
  private later(): void {
    this.stale = true;
    if (this.waiting || !this.stage.isConnected || !this.visible) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      if (this.waiting) this.paint();
    });
  }

  private changed(): void {
    const { focused } = this.state;
    if (focused !== this.followed && focused >= 0) this.port.follow(focused);
    this.followed = focused;
    this.later();
  }

  private paint(): void {
    this.waiting = false;
    if (!this.port.width) return;
    this.stale = false;
    const { v, box } = this.port.where();
    const drawn = paper() && this.few;
    this.canvas.hidden = drawn;
    if (!drawn) this.raster(this.canvas, v, box, paper() ? FINE : window.devicePixelRatio || 1);
    for (const layer of [this.underlay, this.overlay]) {
      layer.setAttribute("width", String(v.width));
      layer.setAttribute("height", String(v.height));
      layer.setAttribute("viewBox", `0 0 ${v.width} ${v.height}`);
    }
    this.underlay.replaceChildren(...under(this.points, v, box), ...(drawn ? [this.shapes(v, box)] : []));
    this.overlay.replaceChildren(...over(this.points, v, box, this.state, this.wishes), ...this.loop());
  }

  private raster(canvas: HTMLCanvasElement, v: View, box: Box, ratio: number): void {
    const [width, height] = [Math.round(v.width * ratio), Math.round(v.height * ratio)];
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const context = canvas.getContext("2d")!;
    context.clearRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(box.x0 * ratio, box.y0 * ratio, (box.x1 - box.x0) * ratio, (box.y1 - box.y0) * ratio);
    context.clip();
    this.backdrop.paint(context, this.points, v, ratio, this.state.colouring);
    const n = this.points.x.length;
    const stronger = this.state.selected.size ? 1 : opacity(this.port.share * n) / opacity(n);
    this.cloud.paint(context, this.state.inks, v, { size: this.size, ratio, stronger });
    context.restore();
  }

  /** Points grow as they are looked at more closely. */
  private get size(): number {
    return dot(this.port.share * this.points.x.length);
  }

  private loop(): SVGElement[] {
    const places = this.lasso ?? this.stretched();
    return places.length ? [svg("polygon", { class: "lasso", points: places.map((p) => p.join(",")).join(" ") })] : [];
  }

  // ---- the pointer ------------------------------------------------------------------------------------

  /** The wheel zooms a chart that has been clicked; over others it scrolls the page, as people expect. */
  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && document.activeElement !== this.stage) return;
    event.preventDefault();
    this.port.zoom(Math.exp(event.deltaY * 0.0015), this.at(event));
  }

  private at(event: MouseEvent): Place {
    const box = this.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private down(event: PointerEvent): void {
    const at = this.at(event);
    this.stage.setPointerCapture(event.pointerId);
    this.tip.hide();
    this.corner = -1;
    if (this.lassoMode || event.shiftKey) this.lasso = [at];
    else this.drag = { from: at, held: this.port.held };
  }

  private move(event: PointerEvent): void {
    const [px, py] = this.at(event);
    if (this.lasso) {
      this.lasso.push([px, py]);
      this.overlay.querySelector(".lasso")?.remove();
      this.overlay.append(...this.loop());
    } else if (this.drag) {
      this.port.pan(px - this.drag.from[0], py - this.drag.from[1], this.drag.held);
    } else {
      this.hover(px, py);
    }
  }

  private up(event: PointerEvent): void {
    const [px, py] = this.at(event);
    const more = event.ctrlKey || event.metaKey;
    const { lasso, drag } = this;
    const { v, box } = this.port.where();
    this.drop();
    if (lasso && lasso.length > 2) {
      this.state.select([...(more ? this.state.selected : []), ...inside(this.points, v, box, lasso)]);
    } else if (drag && Math.hypot(px - drag.from[0], py - drag.from[1]) < 3) {
      const row = this.near(px, py);
      if (row >= 0 && more) this.state.toggle(row);
      else if (row >= 0) this.state.select([row]);
    }
  }

  private drop(): void {
    this.lasso = this.drag = null;
    this.later();
  }

  private near(px: number, py: number): number {
    this.nearby ??= new Nearby(this.points.x, this.points.y);
    return this.nearby.find(this.port.where().v, px, py, REACH);
  }

  private hover(px: number, py: number): void {
    const row = this.near(px, py);
    if (row < 0) this.tip.hide();
    else this.tip.show(this.words(row), px, py, this.port.width, this.port.height, thumbnail(this.state, row));
  }

  /** What is said of a row: its name, its place, and what it is coloured by. */
  private words(row: number): string[] {
    const { xlabel, ylabel, x, y } = this.points;
    const { name, value } = this.state.colouring;
    this.written ??= [writing(...extent(x)), writing(...extent(y))];
    const found = [this.state.ids[row], `${xlabel}: ${this.written[0](x[row])}`];
    if (ylabel) found.push(`${ylabel}: ${this.written[1](y[row])}`);
    const says = name ? value(row) : null;
    return says === null ? found : [...found, `${name}: ${typeof says === "number" ? short(says) : says}`];
  }

  // ---- the keyboard -----------------------------------------------------------------------------------

  private key(event: KeyboardEvent): void {
    const arrows: Record<string, Place> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const acts: Record<string, () => void> = {
      "+": () => this.port.zoom(0.8), "=": () => this.port.zoom(0.8), "-": () => this.port.zoom(1.25), "0": () => this.port.show(),
      Escape: () => this.escape(), Enter: () => this.choose(), " ": () => this.choose(), l: () => this.begin(), L: () => this.begin(),
    };
    const way = arrows[event.key];
    const act = way ? () => (event.shiftKey ? this.port.pan(-40 * way[0], -40 * way[1]) : this.step(way)) : acts[event.key];
    if (!act || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  }

  /** To the nearest row that way; the first step goes to the row nearest the middle. */
  private step(way: Place): void {
    const { v } = this.port.where();
    const { focused } = this.state;
    const none = focused < 0 || Number.isNaN(this.points.x[focused] + this.points.y[focused]);
    const from = none ? this.port.middle : pixel(this.points, v, focused);
    const best = none ? nearest(this.points, v, from) : next(this.points, v, from, way);
    if (best < 0) return;
    this.state.focus(best);
    this.heard.textContent = [...this.words(best), ...(this.corner < 0 ? [] : [count(this.stretchedOver().length, "in the rectangle")])].join(", ");
  }

  /** The rectangle is a lasso for those who draw none: from the point in focus to the next one that they go to. */
  private begin(): void {
    this.corner = this.state.focused;
    if (this.corner < 0) return void (this.heard.textContent = "Arrow keys go to the point where a rectangle is to begin.");
    this.heard.textContent = `A rectangle begins at ${this.state.ids[this.corner]}: arrow keys stretch it, Enter selects the points in it, Escape gives it up.`;
    this.later();
  }

  private stretched(): Place[] {
    const { v } = this.port.where();
    return this.corner < 0 ? [] : rectangle(pixel(this.points, v, this.corner), pixel(this.points, v, this.state.focused));
  }

  /** The rows in the rectangle, those that have left the view since it began among them. */
  private stretchedOver(): number[] {
    return inside(this.points, this.port.where().v, EVERYWHERE, this.stretched());
  }

  private escape(): void {
    if (this.corner < 0) return this.state.clear();
    this.corner = -1;
    this.later();
  }

  private choose(): void {
    const { focused } = this.state;
    if (focused < 0) return;
    if (this.corner >= 0) {
      const rows = this.stretchedOver();
      this.corner = -1;
      this.state.select(rows);
      this.heard.textContent = count(rows.length, "selected");
      return;
    }
    this.state.toggle(focused);
    this.heard.textContent = `${this.state.ids[focused]} ${this.state.selected.has(focused) ? "selected" : "no longer selected"}`;
  }

  // ---- pictures of it ---------------------------------------------------------------------------------

  /** The points and what lies over them as one SVG. */
  picture(): SVGElement {
    this.paint();
    const { v, box } = this.port.where();
    const copy = styled(this.overlay);
    const rules = styled(this.underlay);
    copy.prepend(...rules.children, this.few ? this.shapes(v, box) : this.image(v, box));
    return copy;
  }

  /** Whether every point can have a shape of its own. */
  private get few(): boolean {
    return this.points.x.length <= DRAWN && this.backdrop.empty;
  }

  private shapes(v: View, box: Box): SVGElement {
    return shapes(this.points, v, box, this.state, this.size);
  }

  private image(v: View, box: Box): SVGElement {
    const canvas = h("canvas");
    this.raster(canvas, v, box, 2);
    return svg("image", { href: canvas.toDataURL("image/png"), width: v.width, height: v.height });
  }
}
