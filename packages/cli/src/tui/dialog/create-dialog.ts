import { type Dialog, type DialogDeps, emptyFieldText, type DialogScript, type DialogStep } from "./dialog.ts";
import { drawFrame } from "./frame.ts";
import type { RenderLines } from "./render-lines.ts";
import { type Press, readPresses } from "./read-presses.ts";
import { openTextField, type TextField } from "./text-field.ts";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { quietBeforeAnswerMs, shownBeforeAnswerMs } from "../limits.ts";

export const createDialog = <State, Answer>(script: DialogScript<State, Answer>, deps: DialogDeps): Dialog<Answer> =>
  new ScriptedDialog(script, deps);

class ScriptedDialog<State, Answer> implements Dialog<Answer> {
  readonly answered: Promise<Answer>;
  readonly #script: DialogScript<State, Answer>;
  readonly #deps: DialogDeps;
  readonly #resolve: (answer: Answer) => void;
  #state: State;
  #isOver = false;
  #isFocused = false;
  #pasting: string | undefined;
  #writing: TextField | undefined;
  #scroll = 0;
  #page = 1;
  #body: { readonly of: RenderLines; readonly width: number; readonly lines: readonly string[] } | undefined;
  #drawnId: string | undefined;
  #quiet: AnswerGuard;

  constructor(script: DialogScript<State, Answer>, deps: DialogDeps) {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.answered = promise;
    this.#resolve = resolve;
    this.#script = script;
    this.#deps = deps;
    this.#state = script.first;
    this.#quiet = script.guard === "none" ? openGuard : undrawnGuard;
    this.#follow();
  }

  get focused(): boolean {
    return this.#isFocused;
  }

  set focused(isFocused: boolean) {
    this.#isFocused = isFocused;
    if (this.#writing !== undefined) this.#writing.component.focused = isFocused;
  }

  cancel(): void {
    this.#answer(this.#script.harmless);
  }

  invalidate(): void {
    this.#body = undefined;
  }

  handleInput(data: string): void {
    const { pasting, presses } = readPresses(this.#pasting, data);
    this.#pasting = pasting;
    for (const press of presses) {
      if (this.#isOver) break;
      const quiet = guardAfterPress(this.#quiet, this.#deps.now());
      if (quiet.kind !== "open" && isScrollKey(press)) {
        this.#quiet = guardAfterScroll(this.#quiet, this.#deps.now());
        if (this.#stepOf(press).kind === "pass") this.#passed(press);
        continue;
      }
      this.#quiet = quiet;
      if (quiet.kind === "open") this.#take(press);
    }
    this.#deps.requestRender();
  }

  render(width: number): string[] {
    const picture = this.#script.look(this.#state);
    this.#quiet = guardAfterDraw(this.#quiet, this.#deps.now());
    this.#drawnId = picture.id;
    const frame = drawFrame({
      ...picture,
      body: this.#bodyLines(picture.body, width),
      choices: picture.choices,
      writer: this.#writing?.lines(width) ?? [],
      hints: this.#hints() ?? picture.hints,
      width,
      rows: this.#deps.tui.terminal.rows,
      scroll: this.#scroll,
      theme: this.#deps.theme,
    });
    this.#scroll = frame.scroll;
    this.#page = frame.page;
    return [...frame.lines];
  }

  #take(press: Press): void {
    const step = this.#stepOf(press);
    switch (step.kind) {
      case "answer":
        return this.#answer(step.answer);
      case "to":
        this.#state = step.state;
        return this.#follow();
      case "pass":
        return this.#passed(press);
    }
  }

  #stepOf(press: Press): DialogStep<State, Answer> {
    if (press.kind !== "key") return { kind: "pass" };
    const written = this.#writing?.written() ?? emptyFieldText;
    return this.#script.press(this.#state, { key: press.key, written });
  }

  #passed(press: Press): void {
    const key = press.kind === "key" ? press.key : undefined;
    if (key === "ctrl+c") return this.cancel();
    const moves = key === undefined ? undefined : this.#scrolls(key);
    if (moves !== undefined) {
      this.#scroll = Math.max(0, moves);
      return;
    }
    if (this.#writing === undefined && isLetters(press)) return this.#stray();
    if (this.#writing === undefined || (key !== undefined && silentKeys.has(key))) return;
    this.#writing.press(press);
    this.#state = this.#script.typed?.(this.#state, this.#writing.written().text) ?? this.#state;
    this.#follow();
  }

  #stray(): void {
    if (this.#script.guard === "none") return;
    this.#quiet = guardAfterStray(this.#deps.now());
    this.#state = this.#script.stray?.(this.#state) ?? this.#state;
  }

  #hints(): readonly string[] | undefined {
    const why = this.#quiet.kind === "since" ? this.#quiet.why : "none-came";
    return why === "none-came" ? undefined : [hintByWhy[why]];
  }

  /** An editor scrolls itself. */
  #scrolls(key: string): number | undefined {
    if (this.#script.look(this.#state).body === undefined) return undefined;
    if (key === "pageUp") return this.#scroll - this.#page;
    if (key === "pageDown") return this.#scroll + this.#page;
    if (this.#writing !== undefined) return undefined;
    if (key === "up") return this.#scroll - 1;
    if (key === "down") return this.#scroll + 1;
    if (key === "space") return this.#scroll + this.#page;
    if (key === "home") return 0;
    return key === "end" ? Number.MAX_SAFE_INTEGER : undefined;
  }

  /** The place to write, and from where on is read, as the state wants them. */
  #follow(): void {
    const { id, writer } = this.#script.look(this.#state);
    if (this.#drawnId !== undefined && id !== this.#drawnId) {
      this.#scroll = 0;
      if (this.#script.guard === "each") this.#quiet = undrawnGuard;
    }
    if (writer?.id === this.#writing?.id) return;
    this.#writing = writer === undefined ? undefined : openTextField(writer, this.#deps);
    if (this.#writing !== undefined) this.#writing.component.focused = this.#isFocused;
  }

  #bodyLines(body: RenderLines | undefined, width: number): readonly string[] {
    if (body === undefined) return [];
    if (this.#body?.of !== body || this.#body.width !== width) this.#body = { of: body, width, lines: body(width) };
    return this.#body.lines;
  }

  #answer(answer: Answer): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#resolve(answer);
  }
}

const hintByWhy = {
  "too-soon": "that came too soon to be an answer: pause, then press again",
  "no-answer": "that is none of the answers: pause, then press one of them",
} as const;

const isScrollKey = (press: Press): boolean => press.kind === "key" && scrollKeys.has(press.key);

const scrollKeys: ReadonlySet<string> = new Set(["up", "down", "pageUp", "pageDown", "home", "end"]);

const isLetters = (press: Press): boolean => press.kind !== "key" || press.key.length === 1;

/** They end a line or leave it; whether they do is the script's to say. */
const silentKeys: ReadonlySet<string> = new Set(["escape", "tab", "shift+tab"]);

/**
 * Whether a key may answer.
 *
 *   undrawn ──drawn──▶ since ──a key, long enough after it was drawn and after the key before──▶ open
 *   since ──any other key──▶ since, anew           open ──a letter that means nothing──▶ since, anew
 *
 * Who still types for the editor goes on without answering, and so does whoever types there without looking.
 */
export type AnswerGuard =
  | { readonly kind: "undrawn" }
  | {
      readonly kind: "since";
      readonly drawnAt: Millis;
      /** When the last key came; as long as none has, when it was drawn. */
      readonly at: Millis;
      /** Why the last key was no answer. */
      readonly why: "none-came" | "too-soon" | "no-answer";
    }
  | { readonly kind: "open" };

export const undrawnGuard: AnswerGuard = { kind: "undrawn" };
export const openGuard: AnswerGuard = { kind: "open" };

export const guardAfterDraw = (quiet: AnswerGuard, now: Millis): AnswerGuard =>
  quiet.kind === "undrawn" ? { kind: "since", drawnAt: now, at: now, why: "none-came" } : quiet;

/** A clock that was set back only makes the quiet begin anew. */
export function guardAfterPress(quiet: AnswerGuard, now: Millis): AnswerGuard {
  if (quiet.kind !== "since") return quiet;
  const { drawnAt, at } = quiet;
  if (now - drawnAt >= shownBeforeAnswerMs && now - at >= quietBeforeAnswerMs) return openGuard;
  return { kind: "since", drawnAt: now < drawnAt ? now : drawnAt, at: now, why: "too-soon" };
}

/** A key that scrolls is no answer that came too soon; but whoever presses keys is not quiet yet. */
const guardAfterScroll = (quiet: AnswerGuard, now: Millis): AnswerGuard =>
  quiet.kind === "since" ? { ...quiet, at: now } : quiet;

/** It has been seen long enough: only the keys have to be quiet again. */
export const guardAfterStray = (now: Millis): AnswerGuard => ({
  kind: "since",
  drawnAt: millis(now - shownBeforeAnswerMs),
  at: now,
  why: "no-answer",
});
