import {
  type Dialog,
  type DialogDeps,
  emptyFieldText,
  type DialogScript,
  type DialogStep,
  type DialogBlock,
} from "./dialog.ts";
import type { RenderLines } from "./render-lines.ts";
import { type Press, readPresses, openTextField, type TextField } from "./text-field.ts";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import {
  quietBeforeAnswerMs,
  shownBeforeAnswerMs,
  dialogBodyRowsMin,
  dialogMenuRowsMin,
  dialogRowsKept,
  dialogRowsMin,
} from "../limits.ts";
import { truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import { formatCount } from "palimpsest/internal/text/format-count";
import type { Theme } from "../theme.ts";

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
  #field: TextField | undefined;
  #scroll = 0;
  #page = 1;
  #body: { readonly of: RenderLines; readonly width: number; readonly lines: readonly string[] } | undefined;
  #drawnId: string | undefined;
  #guard: AnswerGuard;

  constructor(script: DialogScript<State, Answer>, deps: DialogDeps) {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.answered = promise;
    this.#resolve = resolve;
    this.#script = script;
    this.#deps = deps;
    this.#state = script.first;
    this.#guard = script.guard === "none" ? openGuard : undrawnGuard;
    this.#syncField();
  }

  get focused(): boolean {
    return this.#isFocused;
  }

  set focused(isFocused: boolean) {
    this.#isFocused = isFocused;
    if (this.#field !== undefined) this.#field.component.focused = isFocused;
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
      const guard = guardAfterPress(this.#guard, this.#deps.now());
      if (guard.kind !== "open" && isScrollKey(press)) {
        this.#guard = guardAfterScroll(this.#guard, this.#deps.now());
        if (this.#nextStep(press).kind === "pass") this.#handlePassed(press);
        continue;
      }
      this.#guard = guard;
      if (guard.kind === "open") this.#handle(press);
    }
    this.#deps.requestRender();
  }

  render(width: number): string[] {
    const content = this.#script.look(this.#state);
    this.#guard = guardAfterDraw(this.#guard, this.#deps.now());
    this.#drawnId = content.id;
    const frame = drawFrame({
      ...content,
      body: this.#bodyLines(content.body, width),
      choices: content.choices,
      writer: this.#field?.lines(width) ?? [],
      hints: this.#hints() ?? content.hints,
      width,
      rows: this.#deps.tui.terminal.rows,
      scroll: this.#scroll,
      theme: this.#deps.theme,
    });
    this.#scroll = frame.scroll;
    this.#page = frame.page;
    return [...frame.lines];
  }

  #handle(press: Press): void {
    const step = this.#nextStep(press);
    switch (step.kind) {
      case "answer":
        return this.#answer(step.answer);
      case "to":
        this.#state = step.state;
        return this.#syncField();
      case "pass":
        return this.#handlePassed(press);
    }
  }

  #nextStep(press: Press): DialogStep<State, Answer> {
    if (press.kind !== "key") return { kind: "pass" };
    const written = this.#field?.written() ?? emptyFieldText;
    return this.#script.press(this.#state, { key: press.key, written });
  }

  #handlePassed(press: Press): void {
    const key = press.kind === "key" ? press.key : undefined;
    if (key === "ctrl+c") return this.cancel();
    const scroll = key === undefined ? undefined : this.#scrollTarget(key);
    if (scroll !== undefined) {
      this.#scroll = Math.max(0, scroll);
      return;
    }
    if (this.#field === undefined && isLetters(press)) return this.#handleStray();
    if (this.#field === undefined || (key !== undefined && silentKeys.has(key))) return;
    this.#field.press(press);
    this.#state = this.#script.typed?.(this.#state, this.#field.written().text) ?? this.#state;
    this.#syncField();
  }

  #handleStray(): void {
    if (this.#script.guard === "none") return;
    this.#guard = guardAfterStray(this.#deps.now());
    this.#state = this.#script.stray?.(this.#state) ?? this.#state;
  }

  #hints(): readonly string[] | undefined {
    const why = this.#guard.kind === "since" ? this.#guard.why : "none-came";
    return why === "none-came" ? undefined : [hintByWhy[why]];
  }

  /** Undefined if the key does not scroll, as in an editor, which scrolls itself. */
  #scrollTarget(key: string): number | undefined {
    if (this.#script.look(this.#state).body === undefined) return undefined;
    if (key === "pageUp") return this.#scroll - this.#page;
    if (key === "pageDown") return this.#scroll + this.#page;
    if (this.#field !== undefined) return undefined;
    if (key === "up") return this.#scroll - 1;
    if (key === "down") return this.#scroll + 1;
    if (key === "space") return this.#scroll + this.#page;
    if (key === "home") return 0;
    return key === "end" ? Number.MAX_SAFE_INTEGER : undefined;
  }

  /** Updates the text field, the scroll position and the guard after a change of state. */
  #syncField(): void {
    const { id, writer } = this.#script.look(this.#state);
    if (this.#drawnId !== undefined && id !== this.#drawnId) {
      this.#scroll = 0;
      if (this.#script.guard === "each") this.#guard = undrawnGuard;
    }
    if (writer?.id === this.#field?.id) return;
    this.#field = writer === undefined ? undefined : openTextField(writer, this.#deps);
    if (this.#field !== undefined) this.#field.component.focused = this.#isFocused;
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

/** Keys that end or leave a field: only the script handles them. */
const silentKeys: ReadonlySet<string> = new Set(["escape", "tab", "shift+tab"]);

/**
 * Whether a key may answer.
 *
 *   undrawn ──drawn──▶ since ──a key, long enough after it was drawn and after the key before──▶ open
 *   since ──any other key──▶ since, anew           open ──a letter that means nothing──▶ since, anew
 *
 * So keys that were meant for the editor do not answer, whether they were typed before the dialog opened or without looking.
 */
export type AnswerGuard =
  | { readonly kind: "undrawn" }
  | {
      readonly kind: "since";
      readonly drawnAt: Millis;
      /** When the last key came, or when the dialog was drawn if none has come. */
      readonly at: Millis;
      /** Why the last key was no answer. */
      readonly why: "none-came" | "too-soon" | "no-answer";
    }
  | { readonly kind: "open" };

export const undrawnGuard: AnswerGuard = { kind: "undrawn" };
export const openGuard: AnswerGuard = { kind: "open" };

export const guardAfterDraw = (guard: AnswerGuard, now: Millis): AnswerGuard =>
  guard.kind === "undrawn" ? { kind: "since", drawnAt: now, at: now, why: "none-came" } : guard;

/** If the clock was set back, the quiet time starts again. */
export function guardAfterPress(guard: AnswerGuard, now: Millis): AnswerGuard {
  if (guard.kind !== "since") return guard;
  const { drawnAt, at } = guard;
  if (now - drawnAt >= shownBeforeAnswerMs && now - at >= quietBeforeAnswerMs) return openGuard;
  return { kind: "since", drawnAt: now < drawnAt ? now : drawnAt, at: now, why: "too-soon" };
}

/** A scroll key is no premature answer, but the quiet time starts again. */
const guardAfterScroll = (guard: AnswerGuard, now: Millis): AnswerGuard =>
  guard.kind === "since" ? { ...guard, at: now } : guard;

/** The dialog has been visible long enough: only the quiet time starts again. */
export const guardAfterStray = (now: Millis): AnswerGuard => ({
  kind: "since",
  drawnAt: millis(now - shownBeforeAnswerMs),
  at: now,
  why: "no-answer",
});

interface FrameInput {
  readonly title: string;
  readonly body: readonly string[];
  readonly choices: DialogBlock | undefined;
  readonly writer: readonly string[];
  readonly hints: readonly string[];
  readonly width: number;
  /** Rows of the terminal. */
  readonly rows: number;
  /** First visible line of the text. */
  readonly scroll: number;
  readonly theme: Theme;
}

interface Frame {
  readonly lines: readonly string[];
  /** The scroll position, limited to the text. */
  readonly scroll: number;
  /** Visible rows of the text. */
  readonly page: number;
}

/**
 * No line is wider than `width`, and all lines fit the terminal: a long text scrolls, and if there are too few rows, the last
 * lines are kept. The text gives way to the choices, because it can scroll and hidden choices could be overlooked.
 */
function drawFrame(input: FrameInput): Frame {
  const { body, choices, width, theme } = input;
  const room = Math.max(dialogRowsMin, input.rows - dialogRowsKept) - titleAndHintRows - input.writer.length;
  const choiceRowsWanted = choices?.rowsWanted(width) ?? 0;
  const gap = body.length > 0 && (choiceRowsWanted > 0 || input.writer.length > 0) ? 1 : 0;
  const choiceRowsMax = Math.min(
    choiceRowsWanted,
    Math.max(dialogMenuRowsMin, room - gap - Math.min(body.length, dialogBodyRowsMin)),
  );
  const visible = visibleBody(input, Math.max(1, room - gap - choiceRowsMax));
  const choiceRows = Math.max(1, Math.min(choiceRowsMax, room - gap - visible.lines.length));
  const lines = [
    frameTitle(input),
    ...visible.lines,
    ...(gap === 1 ? [""] : []),
    ...(choices === undefined ? [] : choices.lines({ width, rows: choiceRows })),
    ...input.writer,
    theme.dim(hintLine(input.hints, width)),
  ];
  const drawn = lines.slice(-Math.max(1, input.rows)).map((line) => stripStyles(fitToWidth(line, width), theme));
  return { lines: drawn, scroll: visible.scroll, page: visible.page };
}

const titleAndHintRows = 2;

/** If the text does not fit, an extra line says which part is visible. */
function visibleBody({ body, scroll, theme }: FrameInput, rows: number): Frame {
  if (body.length <= rows) return { lines: body, scroll: 0, page: rows };
  const page = Math.max(1, rows - 1);
  const from = Math.max(0, Math.min(scroll, body.length - page));
  const to = Math.min(body.length, from + page);
  const place = `  lines ${formatCount(from + 1)} to ${formatCount(to)} of ${formatCount(body.length)}, pgup and pgdn scroll`;
  return { lines: [...body.slice(from, to), theme.dim(place)], scroll: from, page };
}

function frameTitle({ title, width, theme }: FrameInput): string {
  const text = fitToWidth(` ${title} `, Math.max(1, width - 4));
  return `${theme.accent("──")}${theme.strong(text)}${theme.accent("─".repeat(Math.max(0, width - 2 - visibleWidth(text))))}`;
}

function hintLine(hints: readonly string[], width: number): string {
  let line = "";
  for (const hint of hints) {
    const longer = line === "" ? hint : `${line} · ${hint}`;
    if (line !== "" && visibleWidth(longer) > width) break;
    line = longer;
  }
  return line;
}

const fitToWidth = (line: string, width: number): string =>
  visibleWidth(line) <= width ? line : truncateToWidth(line, width, "…");

/** Without colours, also removes the styles that pi-tui adds for a cursor or a cut. The cursor marker stays. */
const stripStyles = (line: string, theme: Theme): string =>
  // oxlint-disable-next-line no-control-regex
  theme.colours === "none" ? line.replaceAll(/\u001B\[[\d;]*m/g, "") : line;
