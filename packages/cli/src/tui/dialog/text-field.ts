import { Editor, type Focusable, Input } from "@earendil-works/pi-tui";
import { sanitizeText } from "../draw/sanitize-text.ts";
import { pasteEnd, pasteStart } from "../input/to-editable.ts";
import { editorTheme } from "../theme.ts";
import type { DialogDeps, TextFieldSpec, FieldText } from "./dialog.ts";
import { linePasteCharsMax } from "../limits.ts";
import type { Press } from "./read-presses.ts";

/** A text field: pi-tui's input line or editor, without submit, and safe for untrusted text. */
export interface TextField {
  readonly id: string;
  readonly component: Focusable;
  readonly lines: (width: number) => readonly string[];
  readonly written: () => FieldText;
  readonly press: (press: Press) => void;
}

export function openTextField(writer: TextFieldSpec, deps: DialogDeps): TextField {
  switch (writer.kind) {
    case "line":
      return lineField(writer);
    case "editor":
      return editorField(writer, deps);
  }
}

function lineField({ id, text, prompt }: TextFieldSpec): TextField {
  const input = new Input({ prompt: prompt ?? "> " });
  input.setValue(sanitizeText(text));
  return {
    id,
    component: input,
    lines: (width) => input.render(width),
    written: () => ({
      text: input.getValue(),
      state: input.getValue() === sanitizeText(text) ? "as-given" : "changed",
    }),
    press: (press) =>
      input.handleInput(
        press.kind === "paste" ? asPaste(press.text.replaceAll("\n", " ").slice(0, linePasteCharsMax)) : press.data,
      ),
  };
}

/** Control characters of the text are spelled out, and are saved that way if the user saves a change. */
function editorField({ id, text }: TextFieldSpec, { tui, theme }: DialogDeps): TextField {
  const editor = new Editor(tui, editorTheme(theme));
  editor.disableSubmit = true;
  editor.setText(sanitizeText(text));
  const initial = editor.getExpandedText();
  return {
    id,
    component: editor,
    // The title is a rule already; the editor's top rule is only needed if it counts hidden lines.
    lines: (width) => {
      const [top = "", ...below] = editor.render(width);
      return top.includes("↑") ? [top, ...below] : below;
    },
    written: () => {
      const now = editor.getExpandedText();
      return { text: now, state: now === initial ? "as-given" : "changed" };
    },
    press: (press) => {
      if (press.kind === "paste") editor.handleInput(asPaste(press.text));
      else editor.handleInput(press.kind === "key" && press.key === "enter" ? "\n" : press.data);
    },
  };
}

const asPaste = (text: string): string => `${pasteStart}${text}${pasteEnd}`;
