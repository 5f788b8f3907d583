// What draws itself at once when the page is about to be printed, and again when it is back on the screen: the printer does
// not wait for a frame, and observers of sizes do not see that it changed them. Events of our own would not do: browsers hold
// them back while they print.
import { Listeners } from "./listeners";

const waiting = new Listeners();

/** Calls `draw` before every print, and after it. */
export function aroundPaper(draw: () => void): void {
  waiting.add(draw);
}

export function drawAtOnce(): void {
  waiting.tell();
}

let sizing = false;

/** The same where only sizes matter: what is as large whatever is drawn need not be drawn. */
export function sizeAtOnce(): void {
  sizing = true;
  waiting.tell();
  sizing = false;
}

export function onlySizes(): boolean {
  return sizing;
}
