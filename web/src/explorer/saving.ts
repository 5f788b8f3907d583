// What is looked at as files: the report, and the command and the script that give the same numbers.
import { h } from "../dom";
import { save } from "../save";
import { ask, askFile, type Question } from "./client";

interface Saves {
  title: string;
  question: () => Question;
  busy: (words: string, work: () => Promise<string | void>) => void;
  /** The file of what is looked at, and back from it. */
  state: () => string;
  open: (text: string) => void;
  /** Whether the table is a file, beside which scores can be saved. */
  file: boolean;
}

export function savingMenu({ title, question, busy, state, open, file }: Saves): { menu: HTMLElement; panel: HTMLElement } {
  const panel = h("section", { class: "card scripts", "aria-label": "How to make this again", hidden: true });
  const stem = title.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase() || "table";
  const button = (label: string, act: () => void) => h("button", { type: "button", onclick: () => {
    menu.open = false;
    act();
  } }, label);
  const report = button("Report (HTML)", () => busy("Writing the report …", async () => {
    save(`${stem}.html`, "text/html", await askFile("report", { question: question() }));
  }));
  const scripts = button("Command and Python script", () => busy("Writing the script …", async () => {
    const { command, python } = await ask<{ command: string; python: string }>("scripts", { question: question() });
    const close = h("button", { type: "button", onclick: () => void (panel.hidden = true) }, "Close");
    const parts = [...(command ? code("In a terminal", command, `${stem}.sh`) : []), ...code("In Python", python, `${stem}.py`)];
    panel.replaceChildren(h("div", { class: "head" }, h("h3", {}, "How to make this again"), close), ...parts);
    panel.hidden = false;
    panel.scrollIntoView({ block: "nearest" });
  }));
  const scores = button("Scores of all rows, beside the file", () => busy("Writing the scores …", async () => {
    const { path } = await ask<{ path: string }>("scores", { question: question() });
    return `The scores of all rows are in ${path}.`;
  }));
  scores.hidden = !file;
  const whole = button("State (JSON)", () => save(`${stem}.explorer.json`, "application/json", state()));
  whole.dataset.alone = ""; // needs no server
  const chooser = h("input", { type: "file", accept: ".json,application/json", "aria-label": "A saved state", hidden: true, onchange: () => {
    const [chosen] = chooser.files ?? [];
    chooser.value = "";
    if (chosen) busy("Opening the state …", async () => open(await chosen.text()));
  } });
  const opened = button("Open a saved state …", () => chooser.click());
  const link = button("Copy the link to this view", () => void navigator.clipboard.writeText(location.href));
  const menu = h("details", { class: "menu", onkeydown: (event: KeyboardEvent) => {
    if (event.key === "Escape") menu.open = false;
  } }, h("summary", {}, "Save"), h("div", {}, report, scripts, scores, whole, opened, link, chooser, h("p", { class: "note" }, "Each chart has its own CSV, SVG and PNG.")));
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target as Node)) menu.open = false;
  });
  return { menu, panel };
}

function code(label: string, text: string, name: string): HTMLElement[] {
  const copied = h("span", { class: "note", role: "status" });
  const copy = h("button", { type: "button", "aria-label": `Copy: ${label}`, onclick: () => void navigator.clipboard.writeText(text).then(() => (copied.textContent = "copied")) }, "Copy");
  const file = h("button", { type: "button", "aria-label": `Save: ${label}`, onclick: () => save(name, "text/plain", `${text}\n`) }, "Save");
  return [h("h4", {}, label), h("pre", { tabindex: 0 }, h("code", {}, text)), h("div", { class: "actions" }, copy, file, copied)];
}
