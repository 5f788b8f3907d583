// Charts as files: SVG, PNG and CSV.
import { brief, ends, h, svg } from "./dom";
import { measured } from "./labels";
import { path } from "./palette";
import { cells, type Column } from "./report";

export function save(name: string, type: string, content: BlobPart): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// ---- numbers ----------------------------------------------------------------------------------------------

export function csv(columns: Column[]): string {
  const all = columns.map(cells);
  const n = Math.max(0, ...all.map((values) => values.length));
  const lines = [columns.map((column) => quoted(column.name))];
  for (let i = 0; i < n; i++) lines.push(all.map((values) => quoted(values[i] ?? "")));
  return lines.map((line) => line.join(",")).join("\r\n") + "\r\n";
}

/** Quoted where it must be; a leading sign of a formula is made harmless text for spreadsheets. */
function quoted(value: string | number): string {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// ---- pictures ---------------------------------------------------------------------------------------------

const WRITTEN = [
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "paint-order", "font-size", "font-family",
  "font-weight", "font-style", "opacity", "color",
];

/** A copy of a picture on the page that needs no style sheet: what that says is written into it. */
export function styled(picture: SVGElement): SVGElement {
  const copy = picture.cloneNode(true) as SVGElement;
  if (!picture.isConnected) return copy;
  const [from, to] = [[picture, ...picture.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  const box = picture.getBoundingClientRect();
  copy.setAttribute("width", String(box.width));
  copy.setAttribute("height", String(box.height));
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of WRITTEN) (to[i] as SVGElement).style.setProperty(name, style.getPropertyValue(name));
  });
  return copy;
}

export interface Legend {
  entries: { label: string; colour: string; shape: number }[];
  ramp?: { name: string; low: number; high: number; below: boolean; above: boolean; stops: string[] };
  /** A legend that is a picture already. */
  drawn?: SVGElement | null;
}

/** A whole picture: the title, the legend and the chart, on the paper of a card. */
export function framed(picture: SVGElement, title: string, legend: Legend): SVGElement {
  const chart = styled(picture);
  const [width, height] = ["width", "height"].map((side) => Number.parseFloat(chart.getAttribute(side) ?? "640"));
  const ink = getComputedStyle(document.body).color;
  const text = { fill: ink, "font-family": "system-ui, sans-serif" };
  const head = [svg("text", { ...text, x: 12, y: 24, "font-size": 16, "font-weight": 600 }, brief(title, Math.floor(width / 9)))];
  const { nodes, below } = legend.drawn ? moved(legend.drawn) : legend.ramp ? ramp(legend.ramp, text) : entries(legend.entries, width, text);
  chart.setAttribute("x", "0");
  chart.setAttribute("y", String(below));
  const paper = svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).getPropertyValue("--card") });
  const all = { xmlns: "http://www.w3.org/2000/svg", width, height: height + below, viewBox: `0 0 ${width} ${height + below}` };
  return svg("svg", all, paper, ...head, ...nodes, chart);
}

function moved(drawn: SVGElement): { nodes: SVGElement[]; below: number } {
  const copy = styled(drawn);
  copy.setAttribute("x", "12");
  copy.setAttribute("y", "34");
  return { nodes: [copy], below: 42 + Number.parseFloat(copy.getAttribute("height") ?? "50") };
}

type Text = Record<string, string | number>;

function entries(found: Legend["entries"], width: number, text: Text): { nodes: SVGElement[]; below: number } {
  let [x, y] = [12, 44];
  const nodes = found.flatMap(({ label: whole, colour, shape }) => {
    const label = brief(whole) || "(empty)";
    const long = measured(label) + 34;
    if (x > 12 && x + long > width) [x, y] = [12, y + 18];
    const made = [
      svg("path", { class: "sign", d: path(shape, x + 5, y - 4, 5), fill: colour }), svg("text", { ...text, x: x + 15, y, "font-size": 12 }, label),
    ];
    x += long;
    return made;
  });
  return { nodes, below: found.length ? y + 14 : 36 };
}

function ramp(found: NonNullable<Legend["ramp"]>, text: Text): { nodes: SVGElement[]; below: number } {
  const [low, high] = ends(found);
  const words = `${brief(found.name)}: ${low}`;
  const start = 12 + measured(words) + 12;
  const steps = found.stops.map((colour, i, all) => svg("stop", { offset: i / (all.length - 1), "stop-color": colour }));
  const nodes = [
    svg("linearGradient", { id: "ramp" }, ...steps), svg("text", { ...text, x: 12, y: 44, "font-size": 12 }, words),
    svg("rect", { x: start, y: 35, width: 96, height: 10, fill: "url(#ramp)" }),
    svg("text", { ...text, x: start + 104, y: 44, "font-size": 12 }, high),
  ];
  return { nodes, below: 58 };
}

export function written(picture: SVGElement): string {
  return new XMLSerializer().serializeToString(picture);
}

export async function png(picture: SVGElement): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(written(picture))}`;
  await image.decode();
  const canvas = h("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob((blob) => done(blob!), "image/png"));
}
