// Requests to the server of the page, with the token of its link. Nothing else is ever asked.
import { type Chart, type Column, type Numbers, type Rows } from "../report";

/** What a page asks; `eigenlens.explorer.question` says what it means. */
export interface Question {
  roles: Record<string, string>;
  model: string;
  k: number;
  standardize: boolean;
  rotation: string | null;
  axes: number[];
  /** The rows that are fitted: all, all without the marked ones, or these alone; the others are passive. */
  rows: { kind: "all" | "without" | "only"; bits: string };
  /** Options of the model by their names; "" is none. */
  options: Record<string, string | number>;
}

export interface ShelfColumn {
  name: string;
  numeric: boolean;
  role: string;
  reason: string;
  missing: number;
  usable: boolean;
}

/** An option of a model: one of several names, or also a number where it says so. */
export interface ModelOption {
  name: string;
  label: string;
  names: string[];
  first: string | number;
  number: boolean;
  /** What no value is called. */
  none: string;
}

export interface Model {
  name: string;
  title: string;
  group: string;
  standardize: boolean;
  /** Whether there are components to count, and how many at first; null for as many as before. */
  counted: boolean;
  first: number | null;
  /** Whether the plane is of two active columns. */
  columns: boolean;
  options: ModelOption[];
  rotations: string[];
}

/** The range of a slider on a log scale, where it is, and values with a name. */
export interface Scale {
  low: number;
  high: number;
  at: number;
  marks: { name: string; at: number }[];
}

export interface PageData {
  title: string;
  subtitle: string;
  version: string;
  command: string;
  /** Whether the table is a file. */
  file: boolean;
  notes: string[];
  roles: string[];
  rows: Rows;
  shelf: ShelfColumn[];
  models: Model[];
  question: Question;
}

export interface Answer {
  question: Question;
  charts?: Chart[];
  warnings?: string[];
  /** The largest number of components. */
  most?: number;
  /** Names and weights of rows, where they have changed. */
  rows?: { ids?: string[] | null; weights?: Numbers | null };
  /** Why the fit, or a part of what could be shown, is slow, where it waits to be asked for. */
  slow?: string;
  /** Of options that are numbers. */
  scales?: Record<string, Scale>;
  /** What is shown, beside the options. */
  note?: string;
  cancelled?: boolean;
  ms?: number;
}

/** The server does not answer at all. */
export class Silent extends Error {}

/** The server answers, and says what is wrong. */
export class Rejected extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const TOKEN = new URLSearchParams(location.search).get("token") ?? "";

async function request(path: string, body?: object): Promise<Response> {
  const how = body ? { method: "POST", body: JSON.stringify(body) } : {};
  const found = await fetch(`/${path}`, { ...how, headers: { "x-eigenlens-token": TOKEN }, cache: "no-store" }).catch(() => null);
  if (!found) throw new Silent();
  if (found.ok) return found;
  const { error } = (await found.json().catch(() => ({}))) as { error?: string };
  throw new Rejected(found.status, error ?? `The explorer failed with status ${found.status}.`);
}

export async function ask<T>(path: string, body?: object): Promise<T> {
  return received<T>(await (await request(path, body)).json());
}

export async function askFile(path: string, body: object): Promise<Blob> {
  return (await request(path, body)).blob();
}

/** Numbers that several charts share, each put where it is referred to. */
function received<T>(answer: { shared?: Numbers[] }): T {
  const { shared } = answer;
  const put = (value: unknown): unknown => {
    if (Array.isArray(value)) return typeof value[0] === "object" ? value.map(put) : value;
    if (typeof value !== "object" || value === null) return value;
    if ("ref" in value && shared) return shared[value.ref as number];
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, put(part)]));
  };
  return (shared ? put(answer) : answer) as T;
}

export async function askColumn(column: Column): Promise<Column> {
  return (await ask<{ column: Column }>("column", { name: column.name })).column;
}

/** The rows of a set that was written by `bits`. */
export function rowsOf(text: string): number[] {
  const letters = atob(text);
  return Array.from({ length: 8 * letters.length }, (_, row) => row).filter((row) => (letters.charCodeAt(row >> 3) >> (row & 7)) & 1);
}

/** Which of n rows are in a set, as the base64 of one bit for each. */
export function bits(rows: Iterable<number>, n: number): string {
  const packed = new Uint8Array(Math.ceil(n / 8));
  for (const row of rows) packed[row >> 3] |= 1 << (row & 7);
  let text = "";
  for (let i = 0; i < packed.length; i += 8192) text += String.fromCharCode(...packed.subarray(i, i + 8192));
  return btoa(text);
}
