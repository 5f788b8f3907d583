// Elements in one call; text goes in as text, never as markup.

import { SHAPES } from "./palette";

type Props = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  assign(node, props);
  node.append(...children);
  return node;
}

export function svg(tag: string, props: Props = {}, ...children: (Node | string)[]): SVGElement {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(node, props);
  node.append(...children);
  return node;
}

function assign(node: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value as EventListener);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** A point of a colour and a shape, for legends. */
export function swatch(colour: string, shape = 0): HTMLElement {
  const node = h("span", { class: "swatch" });
  node.style.background = colour;
  node.dataset.shape = String(shape);
  if (shape) node.style.clipPath = `polygon(${SHAPES[shape].map(([x, y]) => `${50 + 40 * x}% ${50 + 40 * y}%`).join(", ")})`;
  return node;
}

/** A number as a reader wants it: four digits that count. */
export function short(value: number): string {
  if (Number.isNaN(value)) return "missing";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

/** What stands at both ends of a scale of colours: values beyond an end have its colour, and it says so. */
export function ends({ low, high, below, above }: { low: number; high: number; below: boolean; above: boolean }): [string, string] {
  return [`${below ? "≤ " : ""}${minus(short(low))}`, `${above ? "≥ " : ""}${minus(short(high))}`];
}

/** A number with the sign that is as wide as a plus, where it is below zero. */
export function minus(text: string): string {
  return text.replace(/^-/, "−");
}

/** How numbers between two limits are written: four digits that count, or as many as tell them apart where they lie
 * close together and far from zero. */
export function writing(low: number, high: number): (value: number) => string {
  const [wide, size] = [high - low, Math.max(Math.abs(low), Math.abs(high))];
  if (!(wide > 0) || wide > CLOSE * size) return short;
  const digits = Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(wide))));
  return (value) => (Number.isNaN(value) ? "missing" : String(Number(value.toFixed(digits))));
}

/** How the numbers of a column of a table are written: with the same decimals, those of four digits of the largest or fewer
 * where no number has more, so that they stand under each other; a number that this would make zero has its own digits. */
export function aligned(values: number[], [low, high]: [number, number]): (value: number) => string {
  const one = writing(low, high);
  const decimals = one === short ? decimalsOf(values, Math.max(Math.abs(low), Math.abs(high))) : null;
  return decimals === null ? one : (value) => (value !== 0 && Math.abs(value) < 0.5 * 10 ** -decimals ? short(value) : value.toFixed(decimals));
}

/** How a number is written that crosses a line and a column with these decimals: with the more of them. */
export function crossed(line: number | null, column: number | null): (value: number) => string {
  return line === null || column === null ? short : (value) => value.toFixed(Math.max(line, column));
}

/** The decimals of four digits of the largest size, or fewer where no number has more; none of the very large and small. */
export function decimalsOf(values: number[], size = values.reduce((most, v) => Math.max(most, Math.abs(v)), 0)): number | null {
  if (!(size >= 1e-3 && size < 1e9)) return null;
  const most = Math.max(0, 3 - Math.floor(Math.log10(size)));
  return Math.max(0, ...values.map((v) => v.toFixed(most).replace(/\.?0*$/, "").split(".")[1]?.length ?? 0));
}

/** A name of an option never breaks at its hyphens, and a sentence starts with a capital letter, where it starts with a word. */
export function sentence(text: string): (Node | string)[] {
  const capital = text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  return capital.split(/(--[a-z][a-z-]*)/).map((part, i) => (i % 2 ? h("code", {}, part) : part));
}

/** The part of their size that numbers close together are apart. */
export const CLOSE = 1e-3;

/** A name with its middle left out where it is long. */
export function brief(text: string, most = 32): string {
  if (text.length <= most) return text;
  const letters = Array.from(LETTERS.segment(text), ({ segment }) => segment);
  const end = Math.min(8, Math.floor(most / 3));
  return letters.length <= most ? text : `${letters.slice(0, most - end - 1).join("")}…${letters.slice(-end).join("")}`;
}

/** Letters as readers see them: marks and joined signs are not cut apart. */
const LETTERS = new Intl.Segmenter();

/** Round values for an axis between two limits, about `count` of them. */
export function ticks(low: number, high: number, count: number): number[] {
  const step = stride(low, high, count);
  if (!step) return [low];
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

function stride(low: number, high: number, count: number): number {
  const raw = (high - low) / count;
  if (!(raw > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((m) => m * power >= raw) ?? 10);
}

/** What stands beside ticks: as many decimals as tell neighbours apart, powers of ten for the very large and small. */
export function tickNames(values: number[]): string[] {
  const step = values.length > 1 ? values[1] - values[0] : Math.abs(values[0]) || 1;
  const most = Math.max(...values.map(Math.abs));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const power = (v: number): number => Math.floor(Math.log10(Math.abs(v)) + 1e-9);
  const powers = (most >= 1e6 || decimals > 5) && power(most) - power(step) < 5;
  const written = (v: number): string => v.toExponential(Math.max(0, Math.min(8, power(v) - power(step)))).replace("e+", "e");
  return values.map((v) => {
    const text = v === 0 || Math.abs(v) < 1e-9 * step ? "0" : powers ? written(v) : v.toFixed(decimals);
    return minus(grouped(text));
  });
}

/** Thousands apart, from five digits on. */
function grouped(text: string): string {
  return /^-?\d{5,}$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, ",") : text;
}
