// The explorer: a question on one side, its charts on the other; each change asks again, and the charts follow.
import { bar } from "../bar";
import { h, sentence } from "../dom";
import { State } from "../state";
import { turn } from "../theme";
import { ask, askColumn, Rejected, Silent, type Answer, type PageData, type Question } from "./client";
import { Answers } from "./answers";
import { Controls } from "./controls";
import { History, same } from "./history";
import { KeptSelections } from "./kept";
import { Parts } from "./parts";
import { Reasons } from "./reasons";
import { address, addressed, readStateFile, stateFile, Unreadable, type Saved } from "./saved";
import { savingMenu } from "./saving";
import { Comparison } from "./selection";
import { Shelf } from "./shelf";

/** Milliseconds between two looks at a server that is silent, or at a fit under way; and from a change of the selection or
 * of colours to the address that has it. */
const [AGAIN, LOOK, SETTLED] = [1500, 250, 300];

/** What is left of a page that nobody answers. */
const KEPT = "Nothing is lost: Save, State (JSON) keeps what is chosen here in a file, which the new page opens.";

/** How a question is asked: also where the fit is slow, and whether something near it will do, while a slider moves. */
interface Manner {
  run?: boolean;
  draft?: boolean;
}

class Explorer {
  private history: History;
  private state: State;
  private shelf: Shelf;
  private controls: Controls;
  private comparison: Comparison;
  private kept: KeptSelections;
  private parts: Parts;
  private reasons: Reasons;
  private answers: Answers;
  private says = h("div", { class: "says", role: "status" });
  private undoing = h("button", { type: "button", title: "Undo (Ctrl+Z)", onclick: () => this.travel(this.history.undo()) }, "Undo");
  private redoing = h("button", { type: "button", title: "Redo (Ctrl+Shift+Z)", onclick: () => this.travel(this.history.redo()) }, "Redo");
  /** The question that is being answered, and the one that waits for it: only the last of many is asked. */
  private asking: Question | null = null;
  private waiting: [Question, Manner] | null = null;
  private shown: { name: string | null; weight: string | null; rows: Question["rows"] };
  private timer = 0;
  /** The model whose charts are there; "" for none. */
  private drawn = "";
  private over = false;

  constructor(private data: PageData) {
    this.state = new State(data.rows);
    this.state.remembered = new Map();
    this.state.fetch = askColumn;
    const saved = addressed({ question: data.question, selections: [], colour: this.state.colouring.name || null, palette: this.state.palette }, data.models);
    const first = saved.question;
    this.history = new History(first);
    this.answers = new Answers(this.state);
    this.shown = shownOf(data.question);
    this.coloured = having(first, "colour");
    this.shelf = new Shelf(data.shelf, data.roles, (roles) => this.change({ roles }, true));
    this.controls = new Controls(data.models, (change, lasting) => this.change(change, lasting));
    this.comparison = new Comparison(this.state, () => this.history.now, (error) => this.fail(error));
    this.kept = new KeptSelections(this.state, (kept) => this.comparison.open(kept), () => this.remember());
    this.reasons = new Reasons(this.state, () => this.history.now, (error) => this.fail(error));
    this.parts = new Parts({ state: this.state, question: () => this.history.now, change: (rows) => this.change({ rows }, true), busy: (words, work) => void this.busy(words, work) });
    this.layout();
    this.settle(first, data.shelf.length);
    this.adopt(saved);
    this.state.listen(() => this.remember());
    void this.ask(first);
  }

  private layout(): void {
    const { title, subtitle, version, rows } = this.data;
    document.title = `${title}: Eigenlens explorer`;
    const { menu, panel } = savingMenu({
      title, question: () => this.history.now, busy: (words, work) => void this.busy(words, work), file: this.data.file,
      state: () => stateFile(this.data, this.saved), open: (text) => this.open(text),
    });
    const theme = h("button", { type: "button", "data-alone": true, onclick: turn }, "Light / dark");
    const stop = h("button", { type: "button", title: "Stop the explorer", onclick: () => void this.stop() }, "Stop");
    document.body.append(
      h("a", { class: "skip", href: "#content", onclick: (event: Event) => {
        event.preventDefault();
        document.getElementById("content")?.focus();
      } }, "To the content"),
      h("header", {}, h("div", {}, h("h1", {}, title), h("p", {}, subtitle)), h("div", { class: "heads" }, this.undoing, this.redoing, menu, theme, stop)),
      h("div", { class: "frame-page explorer" }, this.shelf.node,
        h("main", { id: "content", tabindex: -1 }, this.controls.node, bar(rows, this.state, [this.comparison.button, this.kept.button, ...this.parts.buttons]), this.kept.node, this.parts.node, this.says, panel, this.comparison.node, this.reasons.node, this.answers.node)),
      h("footer", {}, `Eigenlens ${version}. This page is served by your own machine, to it alone.`),
    );
    document.addEventListener("keydown", (event) => this.key(event));
    // A link to another view that is opened in this tab changes the address alone.
    window.addEventListener("hashchange", () => this.take(addressed(this.saved, this.data.models)));
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement && ["search", "text"].includes(event.target.type);
    if (typing || !(event.ctrlKey || event.metaKey) || !["z", "y"].includes(event.key.toLowerCase())) return;
    event.preventDefault();
    this.travel(event.key.toLowerCase() === "y" || event.shiftKey ? this.history.redo() : this.history.undo());
  }

  // ---- questions ----------------------------------------------------------------------------------------

  private change(change: Partial<Question>, lasting: boolean): void {
    const question = { ...(this.waiting?.[0] ?? this.asking ?? this.history.now), ...change };
    if (lasting) this.history.add(question);
    void this.ask(question, { draft: !lasting });
  }

  private travel(question: Question): void {
    this.settle(question, this.data.shelf.length);
    void this.ask(question);
  }

  /** Asks; while an answer is under way the newest question waits, and those between are never asked. */
  private async ask(question: Question, manner: Manner = {}): Promise<void> {
    if (this.over) return;
    if (this.asking) {
      this.waiting = [question, manner];
      return;
    }
    this.asking = question;
    document.documentElement.dataset.asking = "yes";
    try {
      const id = String(Math.random()).slice(2);
      const look = manner.run ? this.watch(id) : () => {};
      const answer = await ask<Answer>("answer", { id, question, ...manner, have: this.shown }).finally(look);
      if (!this.waiting) this.show(answer, question);
    } catch (error) {
      if (!this.waiting) this.fail(error, question);
    }
    this.asking = null;
    const next = this.waiting;
    this.waiting = null;
    if (next) void this.ask(...next);
    else delete document.documentElement.dataset.asking;
  }

  private show(answer: Answer, asked: Question): void {
    const { question, charts, warnings, most, rows, slow, cancelled } = answer;
    if (cancelled) return this.say("The fit was given up.", this.again("Run it again", asked));
    if (!charts) {
      this.settle(question, this.data.shelf.length);
      return this.say(`${slow} ${this.before()}`, this.again("Run", question));
    }
    this.drawn = this.data.models.find(({ name }) => name === question.model)!.title;
    if (same(asked, this.history.now)) this.history.settle(question);
    this.settle(question, most!);
    this.controls.explain(answer);
    this.rename(question, rows ?? {});
    this.answers.show(warnings ?? [], charts);
    this.comparison.follow();
    this.reasons.follow(this.data.models.some(({ name, group }) => name === question.model && group === "Classifiers"));
    this.say(slow, ...(slow ? [this.again("Run", question)] : []));
    this.remember(0);
    document.documentElement.dataset.answered = String(1 + Number(document.documentElement.dataset.answered ?? 0));
  }

  private settle(question: Question, most: number): void {
    this.shelf.update(question);
    this.controls.update(question, most);
    this.parts.update(question);
    this.undoing.disabled = !this.history.undoable;
    this.redoing.disabled = !this.history.redoable;
  }

  /** Names, weights and colours of rows follow the roles of their columns. */
  private rename(question: Question, { ids, weights }: NonNullable<Answer["rows"]>): void {
    if (ids !== undefined) this.state.rename(ids);
    if (weights !== undefined) this.state.weigh(weights);
    this.shown = shownOf(question);
    const colour = having(question, "colour");
    if (colour !== this.coloured) this.state.colour(this.state.rows.columns.findIndex(({ name }) => name === colour));
    else if (ids !== undefined || weights !== undefined) this.state.tell();
    this.coloured = colour;
  }

  private coloured: string | null;

  // ---- what is asked for as one value: in the link, and in a file --------------------------------------------

  private get saved(): Saved {
    return { question: this.history.now, selections: this.kept.saved, colour: this.state.colouring.name || null, palette: this.state.palette };
  }

  /** Selections and colours may change many times in a moment; after an answer the page may be loaded again at once. */
  private remember(patience = SETTLED): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => address(this.saved), patience);
  }

  /** Selections and colours of a saved state. */
  private adopt({ selections, colour, palette }: Saved): void {
    this.state.palette = palette as State["palette"];
    this.kept.restore(selections);
    this.state.colour(this.state.rows.columns.findIndex(({ name }) => name === colour));
  }

  private open(text: string): void {
    this.take(readStateFile(text, this.data, this.saved));
  }

  private take(saved: Saved): void {
    this.history.add(saved.question);
    this.coloured = having(saved.question, "colour");
    this.adopt(saved);
    this.travel(saved.question);
  }

  // ---- what is said -------------------------------------------------------------------------------------

  private say(words: string | undefined = "", ...more: HTMLElement[]): void {
    document.documentElement.dataset.ready = "yes";
    this.says.replaceChildren(...(words ? [h("p", { class: "warning" }, ...sentence(words)), ...more] : []));
  }

  /** Charts stay until there are others, and no longer show what is chosen. */
  private before(): string {
    return this.drawn && `The charts below are still those before: ${this.drawn}.`;
  }

  private again(label: string, question: Question): HTMLElement {
    return h("button", { type: "button", class: "run", onclick: () => void this.ask(question, { run: true }) }, label);
  }

  /** How much of a slow fit is done, and a button that gives it up. */
  private watch(id: string): () => void {
    const line = h("p", { class: "warning" }, "Fitting …");
    const cancel = h("button", { type: "button", class: "run", onclick: () => void ask("cancel", { id }) }, "Cancel");
    this.says.replaceChildren(line, cancel);
    const timer = setInterval(async () => {
      const { done, total, what } = await ask<{ done?: number; total?: number | null; what?: string }>("progress", { id }).catch(() => ({ done: undefined, total: null, what: "" }));
      if (done !== undefined) line.textContent = `Fitting: ${what} ${done.toLocaleString("en")}${total ? ` of ${total.toLocaleString("en")}` : ""}`;
    }, LOOK);
    return () => clearInterval(timer);
  }

  private fail(error: unknown, question?: Question): void {
    if (error instanceof Rejected && error.status !== 403) {
      if (question) this.settle(question, this.data.shelf.length);
      return this.say(question ? `${error.message} ${this.before()}` : error.message);
    }
    if (error instanceof Rejected) return this.end(`The explorer was started again, and this page belongs to the one before: open the link that it has printed. ${KEPT}`);
    if (error instanceof Unreadable) return this.say(error.message);
    if (!(error instanceof Silent)) throw error;
    this.say(`The explorer does not answer. If it was stopped, start it again${this.data.command && `: ${this.data.command}`}. ${KEPT}`);
    if (question) setTimeout(() => void this.ask(this.history.now), AGAIN);
  }

  /** Says what is being done, and then what was. */
  private async busy(words: string, work: () => Promise<string | void>): Promise<void> {
    const quietly = (text: string): void => this.says.replaceChildren(...(text ? [h("p", { class: "note" }, text)] : []));
    quietly(words);
    try {
      quietly((await work()) ?? "");
    } catch (error) {
      this.fail(error);
    }
  }

  private async stop(): Promise<void> {
    await ask("quit", {}).catch(() => null);
    this.end("The explorer has stopped. This page can be closed.");
  }

  private end(words: string): void {
    this.over = true;
    this.say(words);
    for (const each of document.querySelectorAll<HTMLButtonElement>(".shelf select, .controls select, .controls input, .heads button:not([data-alone])")) each.disabled = true;
  }
}

/** What decides the names and the weights of the rows that the page has. */
function shownOf(question: Question): { name: string | null; weight: string | null; rows: Question["rows"] } {
  return { name: having(question, "name"), weight: having(question, "weight"), rows: question.rows };
}

function having({ roles }: Question, role: string): string | null {
  return Object.entries(roles).find(([, own]) => own === role)?.[0] ?? null;
}

async function start(): Promise<void> {
  try {
    new Explorer(await ask<PageData>("data"));
  } catch (error) {
    const words = error instanceof Error && error.message ? error.message : "The explorer does not answer.";
    document.body.append(h("main", {}, h("p", { class: "warning", role: "alert" }, words)));
    document.documentElement.dataset.ready = "no";
  }
}

void start();
