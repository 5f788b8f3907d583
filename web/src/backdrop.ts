// What lies behind the points of a scatter: the density of all rows, regions of high density, or the regions of classes.
import { contours } from "d3-contour";
import { brief, h, short, swatch } from "./dom";
import { css, OTHERS, rgb, type Colour } from "./palette";
import { type Points } from "./planes";
import { type View } from "./points";
import { numbers, type Contours, type Density, type Grid, type RowsChart } from "./report";
import { coloursOf, type Colouring } from "./state";

/** Shades of no colour, on light paper and on dark: colours are what points are told apart by. */
const NEUTRAL: Colour = [0.5, 0.5, 0.5];

/** How much of what is behind them regions of a density, which lie on each other, and their edges cover. */
const [LEVEL, EDGE] = [0.2, 0.7];

export class Backdrop {
  /** What shades and colours mean, where there are any. */
  readonly legend: HTMLElement[];
  private density: { cells: HTMLCanvasElement; of: Density } | null = null;
  private levels: Path2D[];
  private regions: { cells: HTMLCanvasElement; of: Colouring } | null = null;
  private shown = h("div", { class: "legend", role: "group", "aria-label": "Shades" });

  constructor(private chart: RowsChart) {
    this.levels = chart.contours ? edges(chart.contours) : [];
    if (chart.contours) this.shown.replaceChildren(...chart.contours.levels.map(level));
    this.legend = this.empty ? [] : [this.shown];
  }

  get empty(): boolean {
    const { density, densities, contours, regions } = this.chart;
    return !density && !densities && !contours && !regions;
  }

  paint(context: CanvasRenderingContext2D, points: Points, v: View, ratio: number, colouring: Colouring): void {
    this.put(context, this.counted(points.density), points.density, v, ratio);
    this.put(context, this.areas(colouring), this.chart.regions ?? null, v, ratio);
    const place = new DOMMatrix([v.sx * ratio, 0, 0, v.sy * ratio, v.tx * ratio, v.ty * ratio]);
    context.fillStyle = `rgb(128 128 128 / ${LEVEL})`;
    context.strokeStyle = `rgb(128 128 128 / ${EDGE})`;
    context.lineWidth = ratio;
    for (const each of this.levels) {
      const region = new Path2D();
      region.addPath(each, place);
      context.fill(region);
      context.stroke(region);
    }
  }

  private put(context: CanvasRenderingContext2D, cells: HTMLCanvasElement | null, grid: Grid | null, v: View, ratio: number): void {
    if (!cells || !grid) return;
    context.imageSmoothingEnabled = true;
    const [left, top] = [v.sx * grid.x0 + v.tx, v.sy * grid.y1 + v.ty];
    context.drawImage(cells, left * ratio, top * ratio, v.sx * (grid.x1 - grid.x0) * ratio, -v.sy * (grid.y1 - grid.y0) * ratio);
  }

  /** All rows as shades, behind the sample of them that are points. */
  private counted(density: Density | null): HTMLCanvasElement | null {
    if (!density) return null;
    if (this.density?.of !== density) {
      const counts = numbers(density.counts);
      const most = counts.reduce((a, b) => Math.max(a, b), 0);
      const shade = (count: number): number => 0.15 + 0.45 * (Math.log1p(count) / (Math.log1p(most) || 1));
      this.density = { of: density, cells: drawn(density, counts, (count) => (count ? [...NEUTRAL, shade(count)] : null)) };
      this.shown.replaceChildren(ramp(most, shade));
    }
    return this.density.cells;
  }

  /** The regions in the colours that their classes have now, the stronger coloured the surer. */
  private areas(colouring: Colouring): HTMLCanvasElement | null {
    const { regions } = this.chart;
    if (!regions) return null;
    if (this.regions?.of === colouring) return this.regions.cells;
    const [codes, sure] = [numbers(regions.codes), numbers(regions.sure)];
    const colours = coloursOf(regions.classes, largest(regions.classes, codes), colouring);
    const palette = colours.map(rgb);
    const cells = drawn(regions, codes, (code, at) => [...palette[code], 0.1 + 0.32 * sure[at]]);
    this.shown.replaceChildren(...entries(regions.classes, colours));
    this.regions = { cells, of: colouring };
    return cells;
  }
}

/** The regions of a density as paths in data coordinates, the widest first. */
function edges({ values, levels, ...grid }: Contours): Path2D[] {
  const [dx, dy] = [(grid.x1 - grid.x0) / grid.width, (grid.y1 - grid.y0) / grid.height];
  const found = contours().size([grid.width, grid.height]).thresholds(levels.map(({ at }) => at))(Array.from(numbers(values)));
  return found.map(({ coordinates }) => {
    const path = new Path2D();
    for (const ring of coordinates.flat()) {
      ring.forEach(([i, j], k) => (k ? path.lineTo(grid.x0 + i * dx, grid.y0 + j * dy) : path.moveTo(grid.x0 + i * dx, grid.y0 + j * dy)));
      path.closePath();
    }
    return path;
  });
}

/** A region of a density in the legend: as dark as it is over those around it. */
function level({ label }: { label: string }, place: number): HTMLElement {
  const dot = swatch(`rgb(128 128 128 / ${1 - (1 - LEVEL) ** (place + 1)})`);
  dot.classList.add("square");
  return h("span", { class: "entry" }, dot, label);
}

/** What the shades of counts mean. */
function ramp(most: number, shade: (count: number) => number): HTMLElement {
  const bar = h("span", { class: "ramp" });
  const stops = [1, most].map((count) => css(NEUTRAL).replace(")", ` / ${shade(count)})`));
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  return h("span", { class: "entry" }, "rows in a cell: 1 ", bar, ` ${short(most)}, by their logarithm`);
}

/** Classes by the area of their regions, the largest first. */
function largest(classes: string[], codes: Float64Array): string[] {
  const areas = new Float64Array(classes.length);
  for (const code of codes) areas[code]++;
  return classes.map((_, i) => i).sort((i, j) => areas[j] - areas[i]).map((i) => classes[i]);
}

/** A line for each class that has a colour of its own, and one for all others. */
function entries(classes: string[], colours: string[]): HTMLElement[] {
  const alike = colours.filter((colour) => colour === OTHERS).length;
  const own = classes.flatMap((name, i) => (colours[i] !== OTHERS || alike === 1 ? [[name, colours[i]]] : []));
  const all = alike > 1 ? [...own, [`${alike} others`, OTHERS]] : own;
  return all.map(([name, colour]) => h("span", { class: "entry", title: name }, swatch(colour), brief(name) || "(empty)"));
}

/** A canvas with a dot for each cell of a grid. */
function drawn(grid: Grid, values: Float64Array, paint: (value: number, at: number) => [...Colour, number] | null): HTMLCanvasElement {
  const canvas = h("canvas", { width: grid.width, height: grid.height });
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(grid.width, grid.height);
  values.forEach((value, at) => {
    const [i, j] = [at % grid.width, grid.height - 1 - Math.floor(at / grid.width)];
    const colour = paint(value, at);
    if (colour) image.data.set(colour.map((v) => 255 * v), 4 * (j * grid.width + i));
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
