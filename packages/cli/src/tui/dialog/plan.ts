import type { PlanAnswer, PlanAsk } from "palimpsest/internal/ports/planning";
import type { Theme } from "../theme/theme.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { editorHints, pressInEditor } from "./editing.ts";
import { exactly, type Lines, markdown, stacked } from "./lines.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import type { Picture } from "./picture.ts";
import type { Pressed, Script, Step } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/** A plan to read, to change and to decide about. Who says nothing keeps planning. */
export const planDialog = (ask: PlanAsk, deps: DialogDeps): Dialog<PlanAnswer> =>
  dialogOf(planScript(ask, deps.theme), deps);

export interface PlanState {
  readonly kind: "choosing" | "telling" | "editing" | "leaving";
  readonly at: number;
  /** As the person changed it. */
  readonly changed?: string;
  readonly body: Lines;
}

function planScript(ask: PlanAsk, theme: Theme): Script<PlanState, PlanAnswer> {
  const bodyOf = (plan: string): Lines =>
    stacked([markdown(plan, theme), () => [""], exactly(ask.path, { theme, paint: theme.dim })]);
  return {
    first: { kind: "choosing", at: 0, body: bodyOf(ask.plan) },
    harmless: { kind: "refused" },
    guard: "first",
    stray: (state) => ({ ...state, at: keepPlanning }),
    press: (state, pressed) => {
      switch (state.kind) {
        case "choosing":
          return pressChoosing(state, pressed.key);
        case "telling":
          return pressTelling(state, pressed);
        case "editing":
        case "leaving":
          return pressEditing(state, { pressed, bodyOf });
      }
    },
    typed: (state) => (state.kind === "leaving" ? { ...state, kind: "editing" } : state),
    look: (state) => pictureOf(state, { ask, theme }),
  };
}

const choices: readonly MenuChoice[] = [
  { label: "Accept, and ask before each edit", key: "y" },
  { label: "Accept, edits without asking", key: "a" },
  { label: "Keep planning, and say what should be otherwise", key: "n" },
  { label: "Edit the plan", key: "e" },
];

const keepPlanning = 2;

type PlanStep = Step<PlanState, PlanAnswer>;

function pressChoosing(state: PlanState, key: string): PlanStep {
  if (key === "escape") return { kind: "answer", answer: { kind: "refused" } };
  const step = pressInMenu({ choices, at: state.at }, key);
  if (step.kind === "none") return { kind: "pass" };
  if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
  const plan = state.changed === undefined ? {} : { plan: state.changed };
  if (step.at === 0) return { kind: "answer", answer: { kind: "accepted", mode: "default", ...plan } };
  if (step.at === 1) return { kind: "answer", answer: { kind: "accepted", mode: "acceptEdits", ...plan } };
  return { kind: "to", state: { ...state, at: step.at, kind: step.at === keepPlanning ? "telling" : "editing" } };
}

function pressTelling(state: PlanState, { key, written }: Pressed): PlanStep {
  if (key === "escape") return { kind: "to", state: { ...state, kind: "choosing" } };
  if (key !== "enter") return { kind: "pass" };
  const words = written.text.trim();
  return { kind: "answer", answer: words === "" ? { kind: "refused" } : { kind: "refused", words } };
}

interface Editing {
  readonly pressed: Pressed;
  readonly bodyOf: (plan: string) => Lines;
}

function pressEditing(state: PlanState, { pressed, bodyOf }: Editing): PlanStep {
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

interface Shown {
  readonly ask: PlanAsk;
  readonly theme: Theme;
}

function pictureOf({ kind, at, changed, body }: PlanState, { ask, theme }: Shown): Picture {
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
