// Charts as files: SVG, PNG and CSV.
import { h } from "./dom";
import { cells, type Column } from "./report";

export function save(name: string, type: string, content: BlobPart): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

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

/** A standalone SVG: the colours that style sheets gave are written into it. */
export function standalone(picture: SVGElement): string {
  const copy = picture.cloneNode(true) as SVGElement;
  const [from, to] = [[picture, ...picture.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  const box = picture.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  if (box.width) copy.setAttribute("width", String(box.width));
  if (box.height) copy.setAttribute("height", String(box.height));
  from.forEach((node, i) => {
    if (!picture.isConnected) return;
    const style = getComputedStyle(node);
    for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "opacity", "color"])
      (to[i] as SVGElement).style.setProperty(name, style.getPropertyValue(name));
  });
  return new XMLSerializer().serializeToString(copy);
}

export async function png(picture: SVGElement, background: string): Promise<Blob> {
  const text = standalone(picture);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = h("canvas", { width: 2 * image.width, height: 2 * image.height });
  const context = canvas.getContext("2d")!;
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob((blob) => done(blob!), "image/png"));
}
