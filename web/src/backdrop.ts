// What lies behind the points of a scatter: the density of all rows, or the regions of classes.
import { brief, h, swatch } from "./dom";
import { type View } from "./points";
import { numbers, type Grid, type RowsChart } from "./report";
import { coloursOf, OTHERS, rgb, type Colour, type Colouring } from "./state";

/** Shades of no colour, on light paper and on dark: colours are what points are told apart by. */
const NEUTRAL: Colour = [0.5, 0.5, 0.5];

export class Backdrop {
  /** What the colours of regions mean, where there are any. */
  readonly legend: HTMLElement[];
  private density: HTMLCanvasElement | null;
  private regions: { cells: HTMLCanvasElement; of: Colouring } | null = null;

  constructor(private chart: RowsChart) {
    this.density = shades(chart);
    this.legend = chart.regions ? [h("div", { class: "legend", role: "group", "aria-label": "Regions" })] : [];
  }

  get empty(): boolean {
    return !this.chart.density && !this.chart.regions;
  }

  paint(context: CanvasRenderingContext2D, v: View, ratio: number, colouring: Colouring): void {
    context.imageSmoothingEnabled = false;
    for (const [cells, grid] of [[this.density, this.chart.density], [this.areas(colouring), this.chart.regions]] as const) {
      if (!cells || !grid) continue;
      const [left, top] = [v.sx * grid.x0 + v.tx, v.sy * grid.y1 + v.ty];
      context.drawImage(cells, left * ratio, top * ratio, v.sx * (grid.x1 - grid.x0) * ratio, -v.sy * (grid.y1 - grid.y0) * ratio);
    }
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
    this.legend[0].replaceChildren(...entries(regions.classes, colours));
    this.regions = { cells, of: colouring };
    return cells;
  }
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

/** All rows as shades, behind the sample of them that are points. */
function shades({ density }: RowsChart): HTMLCanvasElement | null {
  if (!density) return null;
  const counts = numbers(density.counts);
  const top = Math.log1p(counts.reduce((a, b) => Math.max(a, b), 0)) || 1;
  return drawn(density, counts, (count) => (count ? [...NEUTRAL, 0.15 + 0.45 * (Math.log1p(count) / top)] : null));
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
