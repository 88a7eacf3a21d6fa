import type { EditPrompt } from "../chat-ui.ts";
import type { Dialog, DialogDeps, DialogScript, KeyPress } from "./dialog.ts";
import { singleLine } from "./render-lines.ts";
import { createDialog } from "./create-dialog.ts";

/** `leaving`: Esc was pressed while the text was changed; a second Esc discards the change. */
type EditorState = "editing" | "leaving";

type EditorStep =
  /** The key is for the editor. */
  | { readonly kind: "write" }
  | { readonly kind: "ask" }
  /** The text stays unchanged. */
  | { readonly kind: "leave" }
  | { readonly kind: "save"; readonly text: string };

/** Ctrl-S saves, because Ctrl-D deletes in the editor and Enter begins a line. No single key discards a change. */
export function pressInEditor(state: EditorState, { key, written }: KeyPress): EditorStep {
  const isChanged = written.state === "changed";
  if (key === "ctrl+s") return isChanged ? { kind: "save", text: written.text } : { kind: "leave" };
  if (key !== "escape" && key !== "ctrl+c") return { kind: "write" };
  return isChanged && state === "editing" ? { kind: "ask" } : { kind: "leave" };
}

export const editorHints = (state: EditorState): readonly string[] =>
  state === "leaving"
    ? ["esc once more drops your changes", "ctrl-s saves", "any other key goes on"]
    : ["ctrl-s saves", "esc leaves", "enter begins a line"];

/** Lets the user edit a text; undefined if it stays unchanged. */
export const editDialog = (ask: EditPrompt, deps: DialogDeps): Dialog<string | undefined> =>
  createDialog(editScript(ask), deps);

function editScript({ title, text }: EditPrompt): DialogScript<EditorState, string | undefined> {
  const writer = { id: "editing", kind: "editor", text } as const;
  return {
    first: "editing",
    harmless: undefined,
    guard: "none",
    press: (state, pressed) => {
      const step = pressInEditor(state, pressed);
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
    look: (state) => ({ id: "edit", title: singleLine(title), writer, hints: editorHints(state) }),
  };
}
