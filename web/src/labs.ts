// The labs: text, predictions, questions and their check beside the playground's pictures.

import { judge, read, type Slip, type Step, type Verdict } from "./answers";
import { runsOf, type Tree, type Lookup } from "./expressions";
import type { Template } from "./layout";
import type { FromWorker, ToWorker } from "./messages";
import { Readings, isSetting, ofSetting } from "./readings";
import { toHash, type Settings } from "./settings";

export interface Lab {
  id: string;
  number: number;
  title: string;
  place: "page" | "terminal";
  minutes: number;
  goals: string[];
  intro: string;
  runs: Record<string, Settings>;
  steps: Step[];
}

export interface LabsData {
  labs: Lab[];
  slips: Slip[];
  version: string;
  format: number;
  most_characters: number;
}

/** Functions of the page that the labs use. */
export interface Page {
  /** Shows a setting in the controls, and runs it unless it is held back. */
  show(settings: Settings): void;
  settings(): Settings;
  template: Template;
  worker(): Worker;
  engine(): Promise<ArrayBuffer>;
}

interface Answer {
  value: number | string;
  tries: number;
  right: boolean | null;
  settings?: Settings;
}

interface Work {
  student: string;
  answers: Record<string, Answer>;
}

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const KEPT = "elephan-labs";

function element<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Partial<HTMLElementTagNameMap[K]> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Paragraphs of a text; `words` between backticks are code, and a paragraph that begins with $ is a command. */
function paragraphs(text: string): HTMLElement[] {
  return text.split(/\n\s*\n/).map((part) => {
    if (/^\s*(\$ |```)/.test(part)) return element("pre", { textContent: part.trim().replace(/^```\w*\n|\n?```$/g, ""), tabIndex: 0 });
    const pieces = part.trim().split(/(`[^`]+`|\*[^*]+\*)/);
    return element("p", {}, ...pieces.map((piece) => (piece.startsWith("`") ? element("code", { textContent: piece.slice(1, -1) }) : /^\*.+\*$/.test(piece) ? element("em", { textContent: piece.slice(1, -1) }) : piece)));
  });
}

/** Runs of a lab's settings for the check, in an engine of their own, so that the pictures stay as they are. */
class References {
  private readonly found = new Map<string, Promise<Readings>>();
  private readonly waiting: ((answer: FromWorker) => void)[] = [];
  private worker: Promise<Worker> | null = null;
  private id = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly page: Page) {}

  of(settings: Settings): Promise<Readings> {
    const key = toHash(settings);
    const made = this.found.get(key) ?? this.after(settings);
    this.found.set(key, made);
    return made;
  }

  /** Runs one setting when those before it are done: a newer run would cancel an older one. */
  private after(settings: Settings): Promise<Readings> {
    const made = this.last.then(() => this.run(settings));
    this.last = made.catch(() => null);
    return made;
  }

  private async run(settings: Settings): Promise<Readings> {
    const worker = await (this.worker ??= this.start());
    this.id += 1;
    const answer = this.next();
    worker.postMessage({ kind: "run", id: this.id, settings } satisfies ToWorker);
    const whole = await answer;
    if (whole.kind !== "whole") throw new Error(whole.kind === "refused" || whole.kind === "unable" ? whole.message : "no run");
    return new Readings(whole.tables, whole.summary, whole.form);
  }

  private async start(): Promise<Worker> {
    const worker = this.page.worker();
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind !== "partial") this.waiting.shift()?.(data);
    };
    worker.onerror = (event) => this.waiting.shift()?.({ kind: "unable", message: event.message });
    const ready = this.next();
    worker.postMessage({ kind: "load", wasm: await this.page.engine(), template: this.page.template } satisfies ToWorker);
    const answer = await ready;
    if (answer.kind !== "ready") throw new Error("the engine could not be started");
    return worker;
  }

  private next = () => new Promise<FromWorker>((resolve) => this.waiting.push(resolve));
}

/** All expressions of a step. */
function trees(step: Step): Tree[] {
  return [...(step.answer === null ? [] : [step.answer]), ...step.wrong.map((w) => w.value), ...step.options.map((o) => o.when), ...step.holds.map((h) => h.when)];
}

export class Labs {
  private lab: Lab;
  private at = -1; // place of the step; -1 is the introduction
  private readonly references: References;
  private readonly kept: Record<string, Work>;

  constructor(private readonly data: LabsData, private readonly page: Page) {
    this.references = new References(page);
    this.lab = data.labs[0]!;
    this.kept = restored();
    const choose = $<HTMLSelectElement>("lab-choice");
    choose.append(...data.labs.map((lab) => element("option", { value: lab.id, textContent: `${lab.number}. ${lab.title}` })));
    choose.onchange = () => this.open(choose.value, -1);
    $("lab-save").onclick = () => this.save();
    $("lab-reset").onclick = () => this.reset();
    const load = $<HTMLInputElement>("lab-load");
    load.onchange = async () => {
      const file = load.files?.[0];
      if (file) this.load(await file.text());
      load.value = "";
    };
    const student = $<HTMLInputElement>("lab-student");
    student.oninput = () => {
      this.work().student = student.value;
      this.keep();
    };
    addEventListener("hashchange", () => this.follow());
  }

  /** Opens the lab of the address, or the first one. */
  begin(): void {
    if (!this.follow()) this.open(this.lab.id, -1, false);
  }

  /** The reason why nothing may be run now, or null: a prediction comes before its run. */
  held(): string | null {
    const step = this.lab.steps[this.at];
    const run = step?.run ?? this.lab.steps[0]!.run;
    const waiting = this.lab.steps.findIndex((other) => other.kind === "predict" && other.run === run && this.work().answers[other.id] === undefined);
    if (waiting < 0) return null;
    return waiting === this.at ? "Predict first: the pictures appear when you have answered." : `The pictures wait for your prediction in step ${waiting + 1}.`;
  }

  /** Shows the numbers of the newest run beside an experiment, whose controls may be far from the pictures. */
  measured(numbers: string): void {
    const place = document.getElementById("lab-now");
    if (place) place.textContent = `Now: ${numbers}.`;
  }

  private follow(): boolean {
    const [id, step] = location.hash.slice(1).split("/");
    const lab = this.data.labs.find((other) => other.id === id);
    if (!lab) return false;
    const at = lab.steps.findIndex((other) => other.id === step);
    if (lab !== this.lab || at !== this.at) this.open(lab.id, at);
    else if (at < 0) this.open(lab.id, at);
    return true;
  }

  private work(): Work {
    return (this.kept[this.lab.id] ??= { student: Object.values(this.kept).at(-1)?.student ?? "", answers: {} });
  }

  private keep(): void {
    try {
      localStorage.setItem(KEPT, JSON.stringify(this.kept));
    } catch {
      // A browser may forbid storage to a file; the answers can still be saved as a file.
    }
  }

  private open(id: string, at: number, focus = true): void {
    this.lab = this.data.labs.find((lab) => lab.id === id)!;
    this.at = at;
    document.documentElement.dataset.place = this.lab.place;
    $<HTMLSelectElement>("lab-choice").value = id;
    $<HTMLInputElement>("lab-student").value = this.work().student;
    try {
      history.replaceState(null, "", `#${id}${at < 0 ? "" : `/${this.lab.steps[at]!.id}`}`);
    } catch {
      // A page in a frame may have no address of its own.
    }
    this.drawSteps();
    this.drawStep();
    this.reset();
    $<HTMLDetailsElement>("setting").open = this.lab.steps[at]?.kind === "goal";
    if (focus) $("lab-step").querySelector<HTMLElement>("h2")?.focus();
  }

  /** Shows the setting of the step. */
  private reset(): void {
    const run = this.lab.steps[Math.max(this.at, 0)]!.run;
    if (this.lab.place === "page") this.page.show(this.lab.runs[run]!);
  }

  private drawSteps(): void {
    const done = this.lab.steps.filter((step) => isDone(step, this.work().answers[step.id])).length;
    $("lab-steps").replaceChildren(
      ...this.lab.steps.map((step, i) => {
        const answered = isDone(step, this.work().answers[step.id]);
        const button = element("button", { type: "button", textContent: answered ? "✓" : String(i + 1), title: step.title });
        button.setAttribute("aria-label", `Step ${i + 1}, ${step.title}${answered ? ", done" : ""}`);
        if (answered) button.dataset.done = "yes";
        if (i === this.at) button.setAttribute("aria-current", "step");
        button.onclick = () => this.open(this.lab.id, i);
        return button;
      }),
    );
    $("lab-done").textContent = `${done} of ${this.lab.steps.length} steps done; ${done < this.lab.steps.length ? `about ${this.lab.minutes} minutes in all` : "save the answers below"}`;
  }

  private drawStep(): void {
    const step = this.lab.steps[this.at];
    const head = (text: string) => element("h2", { textContent: text, tabIndex: -1 });
    const move = element("div", { className: "moves" });
    const go = (label: string, at: number, id: string, lab = this.lab) => {
      const button = element("button", { type: "button", textContent: label, id });
      button.onclick = () => this.open(lab.id, at);
      move.append(button);
    };
    const following = this.data.labs[this.data.labs.indexOf(this.lab) + 1];
    if (this.at >= 0) go("Back", this.at - 1, "lab-back");
    if (this.at + 1 < this.lab.steps.length) go(this.at < 0 ? "Begin" : "Next", this.at + 1, "lab-next");
    else if (following) go(`To lab ${following.number}`, -1, "lab-following", following);
    if (!step) {
      const goals = element("ul", {}, ...this.lab.goals.map((goal) => element("li", { textContent: goal })));
      const where = this.lab.place === "page" ? "Everything is in this page." : "This lab uses the command line: install Elephan first (pip install, with the wheel that your teacher has or that make dist builds in its source), and see that elephan demo answers. Note your answers here and save them at the end; elephan course check FILE marks them.";
      $("lab-step").replaceChildren(head(this.lab.title), ...paragraphs(this.lab.intro), element("p", { textContent: "After this lab you can:" }), goals, element("p", { className: "quiet", textContent: `${where} It takes about ${this.lab.minutes} minutes.` }), move);
      return;
    }
    const feedback = element("div", { id: "lab-feedback" });
    feedback.setAttribute("role", "status");
    $("lab-step").replaceChildren(
      element("p", { className: "quiet", textContent: `Step ${this.at + 1} of ${this.lab.steps.length}, ${WORDS[step.kind]}, about ${step.minutes} minutes` }),
      head(step.title), ...paragraphs(step.text), this.form(step), feedback, move,
    );
    const answer = this.work().answers[step.id];
    if (answer && this.isChecked(step) && answer.right !== null && isDone(step, answer)) void this.check(step, answer, false);
    else if (answer) this.note(step);
  }

  /** True if this page can check a step: it can run what the answer depends on, or the answer depends on no run. */
  private isChecked(step: Step): boolean {
    if (step.kind === "essay") return false;
    return this.lab.place === "page" || (step.kind === "number" && trees(step).every((tree) => runsOf(tree, () => false).size === 0));
  }

  private note(step: Step): void {
    const later = this.lab.place === "page" || step.kind === "essay" || step.kind === "predict" ? "" : "It is marked by elephan course check, with the file that you save.";
    this.tell(step, { right: true, text: later }, "Your answer is noted.");
  }

  /** Marks the option of a prediction that the run bears out. */
  private async reveal(step: Step): Promise<void> {
    const lookup = await this.lookup(step);
    if (this.lab.steps[this.at] !== step) return;
    step.options.forEach((_, i) => {
      if (!judge(step, i, lookup, []).right) return;
      const label = $(`lab-option-${i}`).parentElement!;
      label.dataset.right = "yes";
      label.append(element("small", { textContent: "the run does this" }));
    });
  }

  private form(step: Step): HTMLFormElement {
    const answer = this.work().answers[step.id];
    const form = element("form", { id: "lab-form", noValidate: true });
    const question = element("p", { className: "question", id: "lab-question", textContent: step.question });
    form.append(question);
    const button = element("button", { type: "submit", className: "primary", textContent: step.kind === "predict" ? "This is my prediction" : this.isChecked(step) ? "Check" : "Note it" });
    if (step.kind === "number") {
      const input = element("input", { type: "text", id: "lab-answer", inputMode: "decimal", autocomplete: "off", value: typeof answer?.value === "number" ? String(answer.value) : "" });
      input.setAttribute("aria-labelledby", "lab-question");
      form.append(element("div", { className: "answer" }, input, element("span", { textContent: step.unit ?? "" }), button));
    } else if (step.kind === "essay") {
      const input = element("textarea", { id: "lab-answer", rows: 6, maxLength: this.data.most_characters, value: typeof answer?.value === "string" ? answer.value : "" });
      input.setAttribute("aria-labelledby", "lab-question");
      form.append(input, button);
    } else if (step.kind === "goal") {
      form.append(element("p", { id: "lab-now", className: "quiet" }), element("div", { className: "answer" }, button));
    } else {
      const given = step.kind === "predict" && answer !== undefined;
      const group = element("fieldset", { disabled: given }, ...step.options.map((option, i) => {
        const input = element("input", { type: "radio", name: "lab-option", value: String(i), checked: answer?.value === i, id: `lab-option-${i}` });
        return element("label", { className: "option" }, input, element("span", { textContent: option.text }));
      }));
      group.setAttribute("aria-labelledby", "lab-question");
      form.append(group);
      if (!given) form.append(button);
    }
    form.onsubmit = (event) => {
      event.preventDefault();
      void this.submit(step);
    };
    return form;
  }

  private async submit(step: Step): Promise<void> {
    const value = this.given(step);
    if (typeof value === "object") {
      this.tell(step, { right: false, text: value.problem });
      return;
    }
    const before = this.work().answers[step.id];
    const answer: Answer = { value, tries: (before?.tries ?? 0) + 1, right: null };
    if (step.kind === "goal") answer.settings = structuredClone(this.page.settings());
    // A student may try other answers after the right one, and what counts is that it was found.
    const found = before?.right === true;
    if (found) before.tries = answer.tries;
    else this.work().answers[step.id] = answer;
    const checked = this.isChecked(step);
    if (checked) answer.right = await this.check(step, answer, true, found ? " Your right answer stays." : "");
    else this.note(step);
    if (answer.right || (found && !checked)) this.work().answers[step.id] = answer;
    this.keep();
    this.drawSteps();
    if (step.kind !== "predict" || !checked) return;
    $("lab-form").replaceWith(this.form(step));
    void this.reveal(step);
    this.reset();
    $("lab-next")?.focus();
  }

  /** The answer in the form of a step, or what is wrong with it. */
  private given(step: Step): number | string | { problem: string } {
    if (step.kind === "goal") return 0;
    if (step.kind === "essay") return $<HTMLTextAreaElement>("lab-answer").value.trim() || { problem: "Write something first." };
    if (step.kind === "number") return read($<HTMLInputElement>("lab-answer").value, step.unit) ?? { problem: `Write one number${step.unit ? `, in ${step.unit}` : ""}.` };
    const chosen = document.querySelector<HTMLInputElement>("#lab-form input:checked");
    return chosen ? Number(chosen.value) : { problem: "Choose one of the answers first." };
  }

  private async check(step: Step, answer: Answer, aloud: boolean, after = ""): Promise<boolean> {
    try {
      const verdict = judge(step, Number(answer.value), await this.lookup(step, answer.settings), this.data.slips);
      if (this.lab.steps[this.at] !== step) return verdict.right;
      if (!verdict.right && step.kind === "number" && (await this.isOfOtherSetting(step, answer))) verdict.text = "That is right for the setting in the controls, but the question is about the step's own. " + this.resetHint();
      this.tell(step, verdict.right ? verdict : { right: false, text: verdict.text + after });
      if (step.kind === "predict" && !aloud) await this.reveal(step);
      if (aloud && verdict.right) $("lab-next")?.focus();
      return verdict.right;
    } catch (error) {
      this.tell(step, { right: false, text: `It could not be checked: ${error instanceof Error ? error.message : String(error)}` });
      return false;
    }
  }

  private resetHint = () => "The button 'Setting of this step' shows it again.";

  /** True if the answer would be right for what the student has set in the controls. */
  private async isOfOtherSetting(step: Step, answer: Answer): Promise<boolean> {
    const settings = this.page.settings();
    if (toHash(settings) === toHash(this.lab.runs[step.run]!) || this.held() !== null) return false;
    return judge(step, Number(answer.value), await this.lookup(step, settings), []).right;
  }

  /** Numbers for the expressions of a step. Unnamed, they belong to `own` if given, and to the step's run otherwise. */
  private async lookup(step: Step, own?: Settings): Promise<Lookup> {
    const settings = (run: string | null) => (run === null ? (own ?? this.lab.runs[step.run]!) : this.lab.runs[run]!);
    const readings = new Map<string | null, Readings>();
    for (const run of new Set(trees(step).flatMap((tree) => [...runsOf(tree, isSetting)]))) readings.set(run, await this.references.of(settings(run)));
    return (run, name, flow) => (isSetting(name, flow) ? ofSetting(settings(run), name, flow) : readings.get(run)!.of(name, flow));
  }

  private tell(step: Step, verdict: Verdict, word?: string): void {
    const place = $("lab-feedback");
    place.className = verdict.right ? "good" : step.kind === "predict" ? "" : "bad";
    const said = word ?? (step.kind === "predict" ? (verdict.right ? "Your prediction holds." : "The run does something else.") : verdict.right ? "Right." : "Not yet.");
    place.replaceChildren(element("strong", { textContent: said }), ...paragraphs(verdict.text).filter((p) => p.textContent));
  }

  private save(): void {
    const { student, answers } = this.work();
    const document_ = { format: this.data.format, elephan: this.data.version, lab: this.lab.id, student, answers };
    const link = element("a", { href: URL.createObjectURL(new Blob([JSON.stringify(document_, null, 1)], { type: "application/json" })), download: `lab-${this.lab.number}-${student.replace(/[^\p{L}\p{N}-]+/gu, "-") || "answers"}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  /** Opens a file of saved answers. */
  private load(text: string): void {
    const said = $("lab-loaded");
    try {
      const found = JSON.parse(text) as { format: number; lab: string; student: string; answers: Record<string, Answer> };
      const lab = this.data.labs.find((other) => other.id === found.lab);
      if (!lab || found.format !== this.data.format) throw new Error("not the answers of a lab of this page");
      const known = Object.entries(found.answers).filter(([id, answer]) => lab.steps.some((step) => step.id === id) && ["number", "string"].includes(typeof answer.value));
      this.kept[lab.id] = { student: String(found.student), answers: Object.fromEntries(known) };
      this.keep();
      said.textContent = "";
      this.open(lab.id, -1);
    } catch (error) {
      said.textContent = `The file cannot be opened: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

const WORDS: Record<Step["kind"], string> = { predict: "a prediction", number: "a number", choice: "a choice", goal: "an experiment", essay: "your own words" };

const isDone = (step: Step, answer: Answer | undefined) => answer !== undefined && (step.kind === "predict" || step.kind === "essay" || answer.right !== false);

function restored(): Record<string, Work> {
  try {
    return (JSON.parse(localStorage.getItem(KEPT) ?? "{}") ?? {}) as Record<string, Work>;
  } catch {
    return {};
  }
}
