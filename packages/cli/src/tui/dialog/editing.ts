import type { Pressed } from "./script.ts";

/** `leaving`: Esc was pressed over a changed text, and once more drops the change. */
export type EditingState = "editing" | "leaving";

export type EditingStep =
  /** The key is for the editor. */
  | { readonly kind: "write" }
  | { readonly kind: "ask" }
  /** The text stays as it was. */
  | { readonly kind: "leave" }
  | { readonly kind: "save"; readonly text: string };

/** Ctrl-S saves: Ctrl-D deletes in the editor, and Enter begins a line. Nothing that was changed is lost by one key. */
export function pressInEditor(state: EditingState, { key, written }: Pressed): EditingStep {
  const isChanged = written.state === "changed";
  if (key === "ctrl+s") return isChanged ? { kind: "save", text: written.text } : { kind: "leave" };
  if (key !== "escape" && key !== "ctrl+c") return { kind: "write" };
  return isChanged && state === "editing" ? { kind: "ask" } : { kind: "leave" };
}

export const editorHints = (state: EditingState): readonly string[] =>
  state === "leaving"
    ? ["esc once more drops your changes", "ctrl-s saves", "any other key goes on"]
    : ["ctrl-s saves", "esc leaves", "enter begins a line"];
