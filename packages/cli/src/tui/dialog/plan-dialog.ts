import type { PlanAnswer, PlanReviewRequest } from "palimpsest/internal/ports/plan-mode";
import type { Theme } from "../theme.ts";
import type { Dialog, DialogDeps, DialogContent, KeyPress, DialogScript, DialogStep } from "./dialog.ts";
import { exactLines, type RenderLines, markdownLines, stackLines, singleLine } from "./render-lines.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import { createDialog } from "./create-dialog.ts";
import type { EditPrompt } from "../chat-ui.ts";

/** Shows a plan to read, edit, and accept or refuse. No answer means that planning continues. */
export const planDialog = (ask: PlanReviewRequest, deps: DialogDeps): Dialog<PlanAnswer> =>
  createDialog(planScript(ask, deps.theme), deps);

interface PlanState {
  readonly kind: "choosing" | "telling" | "editing" | "leaving";
  readonly at: number;
  /** The plan as the user has changed it. */
  readonly changed?: string;
  readonly body: RenderLines;
}

function planScript(ask: PlanReviewRequest, theme: Theme): DialogScript<PlanState, PlanAnswer> {
  const bodyOf = (plan: string): RenderLines =>
    stackLines([markdownLines(plan, theme), () => [""], exactLines(ask.path, { theme, paint: theme.dim })]);
  return {
    first: { kind: "choosing", at: 0, body: bodyOf(ask.plan) },
    harmless: { kind: "refused" },
    guard: "first",
    stray: (state) => ({ ...state, at: keepPlanningIndex }),
    press: (state, pressed) => {
      switch (state.kind) {
        case "choosing":
          return pressWhileChoosing(state, pressed.key);
        case "telling":
          return pressWhileTelling(state, pressed);
        case "editing":
        case "leaving":
          return pressWhileEditing(state, { pressed, bodyOf });
      }
    },
    typed: (state) => (state.kind === "leaving" ? { ...state, kind: "editing" } : state),
    look: (state) => planContent(state, { ask, theme }),
  };
}

const choices: readonly MenuChoice[] = [
  { label: "Accept, and ask before each edit", key: "y" },
  { label: "Accept, edits without asking", key: "a" },
  { label: "Keep planning, and say what should be otherwise", key: "n" },
  { label: "Edit the plan", key: "e" },
];

const keepPlanningIndex = 2;

type PlanStep = DialogStep<PlanState, PlanAnswer>;

function pressWhileChoosing(state: PlanState, key: string): PlanStep {
  if (key === "escape") return { kind: "answer", answer: { kind: "refused" } };
  const step = pressInMenu({ choices, at: state.at }, key);
  if (step.kind === "none") return { kind: "pass" };
  if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
  const plan = state.changed === undefined ? {} : { plan: state.changed };
  if (step.at === 0) return { kind: "answer", answer: { kind: "accepted", mode: "default", ...plan } };
  if (step.at === 1) return { kind: "answer", answer: { kind: "accepted", mode: "acceptEdits", ...plan } };
  return { kind: "to", state: { ...state, at: step.at, kind: step.at === keepPlanningIndex ? "telling" : "editing" } };
}

function pressWhileTelling(state: PlanState, { key, written }: KeyPress): PlanStep {
  if (key === "escape") return { kind: "to", state: { ...state, kind: "choosing" } };
  if (key !== "enter") return { kind: "pass" };
  const words = written.text.trim();
  return { kind: "answer", answer: words === "" ? { kind: "refused" } : { kind: "refused", words } };
}

function pressWhileEditing(
  state: PlanState,
  { pressed, bodyOf }: { readonly pressed: KeyPress; readonly bodyOf: (plan: string) => RenderLines },
): PlanStep {
  const step = pressInEditor(state.kind === "leaving" ? "leaving" : "editing", pressed);
  switch (step.kind) {
    case "write":
      return { kind: "pass" };
    case "ask":
      return { kind: "to", state: { ...state, kind: "leaving" } };
    case "leave":
      return { kind: "to", state: { ...state, kind: "choosing", at: 0 } };
    case "save": {
      const { text } = step;
      return { kind: "to", state: { kind: "choosing", at: 0, changed: text, body: bodyOf(text) } };
    }
  }
}

function planContent(
  { kind, at, changed, body }: PlanState,
  { ask, theme }: { readonly ask: PlanReviewRequest; readonly theme: Theme },
): DialogContent {
  const title = changed === undefined ? "The agent's plan" : "The agent's plan, as you changed it";
  switch (kind) {
    case "choosing":
      return {
        id: "plan",
        title,
        body,
        choices: menuBlock({ choices, at }, theme),
        hints: ["enter takes ❯", "esc keeps planning", "or a letter", "pgup/pgdn scroll"],
      };
    case "telling": {
      const writer = { id: "telling", kind: "line", text: "", prompt: "otherwise: " } as const;
      return { id: "plan", title, body, writer, hints: ["enter tells the agent", "esc back"] };
    }
    case "editing":
    case "leaving": {
      const writer = { id: "editing", kind: "editor", text: changed ?? ask.plan } as const;
      return { id: "editing", title, writer, hints: editorHints(kind) };
    }
  }
}

/** `leaving`: Esc was pressed while the text was changed; a second Esc discards the change. */
type EditorState = "editing" | "leaving";

type EditorStep =
  /** The key is for the editor. */
  | { readonly kind: "write" }
  | { readonly kind: "ask" }
  /** The text stays unchanged. */
  | { readonly kind: "leave" }
  | { readonly kind: "save"; readonly text: string };

type EditedThing = NonNullable<EditPrompt["of"]>;

/**
 * Ctrl-S saves, because Ctrl-D deletes in the editor and Enter begins a line; a message is sent by Enter. No single key
 * discards a change.
 */
function pressInEditor(state: EditorState, { key, written, of = "text" }: KeyPress & { of?: EditedThing }): EditorStep {
  const isChanged = written.state === "changed";
  if (key === "ctrl+s" || (key === "enter" && of === "message"))
    return isChanged ? { kind: "save", text: written.text } : { kind: "leave" };
  if (key !== "escape" && key !== "ctrl+c") return { kind: "write" };
  return isChanged && state === "editing" ? { kind: "ask" } : { kind: "leave" };
}

function editorHints(state: EditorState, of: EditedThing = "text"): readonly string[] {
  const saves = of === "message" ? "enter sends" : "ctrl-s saves";
  const what = of === "message" ? "the message" : "your changes";
  return state === "leaving"
    ? [`esc once more drops ${what}`, saves, "any other key goes on"]
    : [saves, "esc leaves", `${of === "message" ? "shift-enter" : "enter"} begins a line`];
}

/** Lets the user edit a text; undefined if it stays unchanged. */
export const editDialog = (ask: EditPrompt, deps: DialogDeps): Dialog<string | undefined> =>
  createDialog(editScript(ask), deps);

function editScript({ title, text, of = "text" }: EditPrompt): DialogScript<EditorState, string | undefined> {
  const writer = { id: "editing", kind: "editor", text } as const;
  return {
    first: "editing",
    harmless: undefined,
    guard: "none",
    press: (state, pressed) => {
      const step = pressInEditor(state, { ...pressed, of });
      switch (step.kind) {
        case "write":
          return { kind: "pass" };
        case "ask":
          return { kind: "to", state: "leaving" };
        case "leave":
          return { kind: "answer", answer: undefined };
        case "save":
          return { kind: "answer", answer: step.text };
      }
    },
    typed: () => "editing",
    look: (state) => ({ id: "edit", title: singleLine(title), writer, hints: editorHints(state, of) }),
  };
}
