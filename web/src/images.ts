// Rows as pictures: a grid of them, the numbers behind it, and the grid as one picture.
import { type Drawn } from "./charts";
import { brief, ends, h, svg } from "./dom";
import { between, signed } from "./palette";
import { aroundPaper } from "./paper";
import { extent } from "./points";
import { numbers, type Column, type ImagesChart } from "./report";
import { type State } from "./state";
import { onTheme } from "./theme";

/** Side of a picture in the file of a grid, the gap between two, and the height of a label. */
const [SIDE, GAP, LABEL] = [88, 8, 18];

export function images(chart: ImagesChart): Drawn {
  const grid = h("div", { class: "images" });
  // Rows and what became of them stand under each other; components may go on in the next line where it is narrow.
  grid.style.gridTemplateColumns = chart.scheme
    ? `repeat(auto-fill, minmax(max(3.6rem, ${Math.floor(100 / (chart.columns + 0.9))}%), 1fr))`
    : `repeat(${chart.columns}, minmax(0, 1fr))`;
  const node = h("div", {}, grid);
  const all = chart.images.map((image) => numbers(image.pixels));
  const size = { width: chart.width, height: chart.height, role: "img" };
  const drawn = chart.images.map(({ label }) => ({ label, canvas: h("canvas", { ...size, "aria-label": label }) }));
  for (const { label, canvas } of drawn) grid.append(h("figure", {}, canvas, h("figcaption", {}, label)));
  const paint = (): void => {
    drawn.forEach(({ canvas }, i) => pixels(chart, canvas, all[i]));
    node.replaceChildren(scale(chart, all), grid);
  };
  paint();
  if (chart.scheme) [onTheme(paint), aroundPaper(paint)];
  return { node, get columns() { return behind(chart); }, picture: () => sheet(chart, drawn) };
}

/** A row that is an image, small; nothing where rows are not. */
export function thumbnail({ rows: { images }, ids, shades }: State, row: number): HTMLCanvasElement[] {
  const found = shades(row);
  if (!images || !found) return [];
  const { width, height } = images;
  const canvas = h("canvas", { class: "thumbnail", width, height, role: "img", "aria-label": `${ids[row]} as an image` });
  const paint = new ImageData(width, height);
  found.forEach((shade, i) => paint.data.set([255 - shade, 255 - shade, 255 - shade, 255], 4 * i));
  canvas.getContext("2d")!.putImageData(paint, 0, 0);
  return [canvas];
}

const addresses = new WeakMap<State, Map<number, string>>();

/** The same as an address, made once: pictures of a plot are drawn again with each move. */
export function thumbnailAddress(state: State, row: number): string {
  let known = addresses.get(state);
  if (!known) addresses.set(state, (known = new Map()));
  if (!known.has(row)) known.set(row, thumbnail(state, row)[0].toDataURL());
  return known.get(row)!;
}

/** A line a pixel, a column an image. */
function behind({ width, height, images }: ImagesChart): Column[] {
  const places = Array.from({ length: width * height }, (_, i) => `${Math.floor(i / width) + 1}, ${(i % width) + 1}`);
  return [
    { name: "pixel (row, column)", kind: "text", values: places },
    ...images.map(({ label, pixels }): Column => ({ name: label, kind: "number", values: pixels })),
  ];
}

/** Dark is high; what lies beyond a common scale is as dark, or as bright, as its end. Values of both signs have the
 * colours of signed matrices, up to the largest of the image where there is no common scale. */
function pixels(chart: ImagesChart, canvas: HTMLCanvasElement, values: Float64Array): void {
  const context = canvas.getContext("2d")!;
  const paint = context.createImageData(chart.width, chart.height);
  const [low, high] = chart.range ?? (chart.scheme ? about(extent(values)) : extent(values));
  const stops = chart.scheme ? signed() : ["#ffffff", "#000000"];
  values.forEach((v, i) => {
    const colour = Number.isNaN(v) ? [0.63, 0.63, 0.63] : between(stops, (v - low) / (high - low || 1));
    paint.data.set([...colour.map((c) => 255 * c), 255], 4 * i);
  });
  context.putImageData(paint, 0, 0);
}

function about([low, high]: [number, number]): [number, number] {
  const top = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return [-top, top];
}

/** What the shades mean, and whether some values lie beyond them. */
function scale({ range, scheme }: ImagesChart, all: Float64Array[]): HTMLElement {
  const bar = h("span", { class: "ramp" });
  const stops = scheme ? signed() : ["#ffffff", "#000000"];
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  if (!range) return h("div", { class: "legend" }, h("span", { class: "entry" }, ...(scheme ? ["negative ", bar, " positive, each image up to its largest value"] : ["lowest ", bar, " highest of each image"])));
  const [low, high] = all.map(extent).reduce((a, b) => [Math.min(a[0], b[0]), Math.max(a[1], b[1])]);
  const [from, to] = ends({ low: range[0], high: range[1], below: low < range[0], above: high > range[1] });
  return h("div", { class: "legend" }, h("span", { class: "entry" }, `${from} `, bar, ` ${to}`));
}

function sheet(chart: ImagesChart, drawn: { label: string; canvas: HTMLCanvasElement }[]): SVGElement {
  const text = { fill: getComputedStyle(document.body).color, "font-family": "system-ui, sans-serif", "font-size": 10, "text-anchor": "middle" };
  const nodes = drawn.flatMap(({ label, canvas }, i) => {
    const [x, y] = [GAP + (i % chart.columns) * (SIDE + GAP), Math.floor(i / chart.columns) * (SIDE + LABEL + GAP)];
    return [
      svg("image", { x, y, width: SIDE, height: SIDE, href: canvas.toDataURL(), style: "image-rendering: pixelated" }),
      svg("text", { ...text, x: x + SIDE / 2, y: y + SIDE + 12 }, brief(label, 18)),
    ];
  });
  const [width, height] = [GAP + chart.columns * (SIDE + GAP), Math.ceil(drawn.length / chart.columns) * (SIDE + LABEL + GAP)];
  return svg("svg", { width, height }, ...nodes);
}
