// All that a reader has asked for as one value: in the link, so that a page that is loaded again, or sent to somebody with
// the same file, shows the same; and in a file.
import { rowsOf, type Model, type PageData, type Question } from "./client";
import { type SavedSelection } from "./kept";

export interface Saved {
  question: Question;
  selections: SavedSelection[];
  /** What colours the rows, by the name of its column; null for one colour. */
  colour: string | null;
  palette: string;
}

/** A file that is no state of this table. */
export class Unreadable extends Error {}

/** Letters of a link: selections among very many rows are left out of it, and are in the file alone. */
const LONGEST = 60_000;

const KIND = "Eigenlens explorer";

/** Puts what is asked for into the address of the page. */
export function address({ question, ...rest }: Saved): void {
  const whole = JSON.stringify({ ...question, ...rest });
  const short = JSON.stringify({ ...question, ...rest, selections: [], rows: { kind: "all", bits: "" } });
  history.replaceState(null, "", `${location.search}#${encodeURIComponent(whole.length > LONGEST ? short : whole)}`);
}

/** What the address asks for, where there is something that these columns can answer. */
export function addressed(first: Saved, models: Model[]): Saved {
  try {
    return read(JSON.parse(decodeURIComponent(location.hash.slice(1))) as Partial<Saved & Question>, first, models);
  } catch {
    return first;
  }
}

function read({ selections, colour, palette, ...question }: Partial<Saved & Question>, first: Saved, models: Model[]): Saved {
  const known = Object.keys(question.roles ?? { "": "" }).every((name) => name in first.question.roles);
  if (!known) throw new Unreadable("This state is of a table with other columns.");
  const wanted = Object.fromEntries(Object.entries(question).filter(([name]) => name in first.question));
  const found = {
    question: { ...first.question, ...wanted }, selections: Array.isArray(selections) ? selections : [],
    colour: colour === undefined ? first.colour : colour, palette: palette ?? first.palette,
  };
  if (!sound(found, models)) throw new Unreadable("This state is damaged, or of another version of the explorer.");
  return found;
}

/** Whether a state that anybody may have written has what the page draws its controls from; the server checks the rest. */
function sound({ question: { roles, model, k, axes, rows, options }, selections }: Saved, models: Model[]): boolean {
  const object = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
  return object(roles) && object(options) && models.some(({ name }) => name === model) && Number.isSafeInteger(k)
    && Array.isArray(axes) && ["all", "without", "only"].includes(rows?.kind) && decodable(rows.bits)
    && selections.every((each) => typeof each?.name === "string" && decodable(each.bits));
}

function decodable(bits: unknown): boolean {
  try {
    return typeof bits === "string" && rowsOf(bits).length >= 0;
  } catch {
    return false;
  }
}

/** The file of a state. */
export function stateFile({ title, rows }: PageData, saved: Saved): string {
  return `${JSON.stringify({ kind: KIND, title, rows: rows.total, shown: rows.shown, ...saved }, null, 1)}\n`;
}

/** What a file of a state asks for; an error where it is of another table, or none. */
export function readStateFile(text: string, { rows, models }: PageData, first: Saved): Saved {
  let found: Partial<Saved> & { kind?: string; rows?: number; shown?: number; question?: Question };
  try {
    found = JSON.parse(text) as typeof found;
  } catch {
    throw new Unreadable("This file is no saved state of the explorer.");
  }
  if (found?.kind !== KIND || !found.question) throw new Unreadable("This file is no saved state of the explorer.");
  if (found.rows !== rows.total || found.shown !== rows.shown) throw new Unreadable(`This state is of a table of ${found.rows} rows, and this one has ${rows.total}.`);
  const { question, selections, colour, palette } = found;
  return read({ ...question, selections, colour, palette } as Partial<Saved & Question>, first, models);
}
