// Rows as pictures: a grid of them, the numbers behind it, and the grid as one picture.
import { type Drawn } from "./charts";
import { brief, h, svg } from "./dom";
import { extent } from "./points";
import { numbers, type Column, type ImagesChart } from "./report";

/** Side of a picture in the file of a grid, the gap between two, and the height of a label. */
const [SIDE, GAP, LABEL] = [88, 8, 18];

export function images(chart: ImagesChart): Drawn {
  const grid = h("div", { class: "images" });
  grid.style.gridTemplateColumns = `repeat(${chart.columns}, minmax(0, 1fr))`;
  const drawn = chart.images.map((image) => ({ label: image.label, canvas: pixels(chart, numbers(image.pixels), image.label) }));
  for (const { label, canvas } of drawn) grid.append(h("figure", {}, canvas, h("figcaption", {}, label)));
  return { node: grid, get columns() { return behind(chart); }, picture: () => sheet(chart, drawn) };
}

/** A line a pixel, a column an image. */
function behind({ width, height, images }: ImagesChart): Column[] {
  const places = Array.from({ length: width * height }, (_, i) => `${Math.floor(i / width) + 1}, ${(i % width) + 1}`);
  return [
    { name: "pixel (row, column)", kind: "text", values: places },
    ...images.map(({ label, pixels }): Column => ({ name: label, kind: "number", values: pixels })),
  ];
}

/** Dark is high; what lies beyond a common scale is as dark, or as bright, as its end. */
function pixels(chart: ImagesChart, values: Float64Array, label: string): HTMLCanvasElement {
  const canvas = h("canvas", { width: chart.width, height: chart.height, role: "img", "aria-label": label });
  const context = canvas.getContext("2d")!;
  const paint = context.createImageData(chart.width, chart.height);
  const [low, high] = chart.range ?? extent(values);
  values.forEach((v, i) => {
    const dark = Math.max(0, Math.min(1, (v - low) / (high - low || 1)));
    const shade = Number.isNaN(v) ? 160 : 255 - Math.round(255 * dark);
    paint.data.set([shade, shade, shade, 255], 4 * i);
  });
  context.putImageData(paint, 0, 0);
  return canvas;
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
