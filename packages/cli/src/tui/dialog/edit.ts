import type { EditAsk } from "../chat-ui.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { type EditingState, editorHints, pressInEditor } from "./editing.ts";
import { titleLine } from "./lines.ts";
import type { Script } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/** A text to change; undefined where it stays as it was. */
export const editDialog = (ask: EditAsk, deps: DialogDeps): Dialog<string | undefined> =>
  dialogOf(editScript(ask), deps);

function editScript({ title, text }: EditAsk): Script<EditingState, string | undefined> {
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
    look: (state) => ({ id: "edit", title: titleLine(title), writer, hints: editorHints(state) }),
  };
}
