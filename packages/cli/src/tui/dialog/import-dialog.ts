import type { AskedImport } from "palimpsest/internal/memory/load-instruction-file";
import type { Theme } from "../theme.ts";
import { createDialog } from "./create-dialog.ts";
import type { Dialog, DialogDeps, DialogScript } from "./dialog.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import { exactLines, type RenderLines, stackLines, textLines } from "./render-lines.ts";

/** `once`: in this chat. `leave-out`: not in this chat, and asked again next time. `never`: not asked again. */
export type ImportDecision = "once" | "always" | "leave-out" | "never";

/**
 * Asks which files outside of the project its instructions may include. The answers are in the order of the imports; no
 * answer includes nothing. Lasting answers have to be selected and taken by Enter, so that no letter that was meant for
 * the editor decides.
 */
export const importDialog = (imports: readonly AskedImport[], deps: DialogDeps): Dialog<readonly ImportDecision[]> =>
  createDialog(importScript(imports, deps.theme), deps);

interface ImportState {
  /** Decisions about the imports before the current one. */
  readonly decided: readonly ImportDecision[];
  readonly at: number;
}

function importScript(
  imports: readonly AskedImport[],
  theme: Theme,
): DialogScript<ImportState, readonly ImportDecision[]> {
  const choices = importOffers.map(({ choice }) => choice);
  const bodies = imports.map((_, at) => importLines({ imports, at }, theme));
  const complete = (decided: readonly ImportDecision[]): readonly ImportDecision[] =>
    imports.map((_, index) => decided[index] ?? "leave-out");
  return {
    first: { decided: [], at: leaveOutIndex },
    harmless: complete([]),
    guard: "each",
    stray: (state) => ({ ...state, at: leaveOutIndex }),
    press: (state, { key }) => {
      if (key === "escape" || key === "ctrl+c") return { kind: "answer", answer: complete(state.decided) };
      const step = pressInMenu({ choices, at: state.at }, key);
      if (step.kind === "none") return { kind: "pass" };
      if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
      const decided = [...state.decided, importOffers[step.at]?.decision ?? "leave-out"];
      if (decided.length >= imports.length) return { kind: "answer", answer: complete(decided) };
      return { kind: "to", state: { decided, at: leaveOutIndex } };
    },
    look: ({ decided, at }) => {
      const count = imports.length > 1 ? ` (${decided.length + 1} of ${imports.length})` : "";
      const body = bodies[decided.length];
      return {
        id: `import ${decided.length}`,
        title: `Instructions here include a file from outside of the project${count}`,
        ...(body === undefined ? {} : { body }),
        choices: menuBlock({ choices, at }, theme),
        hints: ["enter takes ❯", imports.length > 1 ? "esc leaves out the rest" : "esc leaves it out", "↑↓ move"],
      };
    },
  };
}

interface ImportOffer {
  readonly choice: MenuChoice;
  readonly decision: ImportDecision;
}

const importOffers: readonly ImportOffer[] = [
  { choice: { label: "Include it in this chat", takenBy: "enter" }, decision: "once" },
  { choice: { label: "Always include this file in this project", takenBy: "enter" }, decision: "always" },
  { choice: { label: "Leave it out", key: "n" }, decision: "leave-out" },
  { choice: { label: "Leave it out, and don't ask about it again", takenBy: "enter" }, decision: "never" },
];
/** Selected at first. */
const leaveOutIndex = 2;

/** All of them, with the one that is asked about in front of the others. */
function importLines(
  { imports, at }: { readonly imports: readonly AskedImport[]; readonly at: number },
  theme: Theme,
): RenderLines {
  const current = imports[at];
  const others = imports.filter((_, index) => index > at);
  return stackLines([
    textLines("Included, its text is sent to the model with every request. It was not read yet.", { theme }),
    ...(current === undefined ? [] : fileLines(current, theme)),
    ...(others.length === 0 ? [] : [textLines("These follow:", { theme })]),
    ...others.map(({ realPath }) => exactLines(realPath, { theme, first: "  " })),
  ]);
}

function fileLines({ path, realPath, importedBy }: AskedImport, theme: Theme): readonly RenderLines[] {
  const link = path === realPath ? [] : [exactLines(path, { theme, first: "  by the link " })];
  const from = importedBy === undefined ? [] : [exactLines(importedBy, { theme, first: "  named in    " })];
  return [exactLines(realPath, { theme, first: "! file        ", paint: theme.warning }), ...link, ...from];
}
