// Light or dark: the style sheet decides, and what is drawn with colours of its own is drawn again when that changes.
import { Listeners } from "./listeners";

const waiting = new Listeners();

/** Paper is white whatever the screen is. */
let printing = false;

/** What the style sheet said when it was last asked: it is asked again once the page has turned, as each question has the
 * browser look at the styles of the whole page again, of which charts would ask many. */
let night: boolean | null = null;

export function dark(): boolean {
  night ??= getComputedStyle(document.documentElement).getPropertyValue("color-scheme").trim() === "dark";
  return !printing && night;
}

/** Calls `draw` whenever the page turns light or dark. */
export function onTheme(draw: () => void): void {
  waiting.add(draw);
}

function turned(): void {
  night = null;
  waiting.tell();
}

export function turn(): void {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  turned();
}

export function paper(): boolean {
  return printing;
}

/** While the page is printed, and after: as wide as a sheet, so that what is drawn fills it. */
export function onPaper(now: boolean): void {
  if (printing === now) return;
  printing = now;
  document.documentElement.classList.toggle("paper", now);
  turned();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", turned);
