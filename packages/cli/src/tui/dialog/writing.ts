import { Editor, type Focusable, Input } from "@earendil-works/pi-tui";
import { shownText } from "../draw/shown-text.ts";
import { pasteEnd, pasteStart } from "../input/paste.ts";
import { editorTheme } from "../theme/pi-themes.ts";
import type { DialogDeps } from "./dialog.ts";
import { linePasteCharsMax } from "./limits.ts";
import type { Writer } from "./picture.ts";
import type { Press } from "./presses.ts";
import type { Written } from "./script.ts";

/** A place to write: pi-tui's line or editor, in which nothing is submitted and no text of others drives the terminal. */
export interface Writing {
  readonly id: string;
  readonly component: Focusable;
  readonly lines: (width: number) => readonly string[];
  readonly written: () => Written;
  readonly press: (press: Press) => void;
}

export function startWriting(writer: Writer, deps: DialogDeps): Writing {
  switch (writer.kind) {
    case "line":
      return lineWriting(writer);
    case "editor":
      return editorWriting(writer, deps);
  }
}

function lineWriting({ id, text, prompt }: Writer): Writing {
  const input = new Input({ prompt: prompt ?? "> " });
  input.setValue(shownText(text));
  return {
    id,
    component: input,
    lines: (width) => input.render(width),
    written: () => ({ text: input.getValue(), state: input.getValue() === shownText(text) ? "as-given" : "changed" }),
    press: (press) =>
      input.handleInput(
        press.kind === "paste" ? pasted(press.text.replaceAll("\n", " ").slice(0, linePasteCharsMax)) : press.data,
      ),
  };
}

/** Control characters of the text are spelled out: who saves a change saves them so. */
function editorWriting({ id, text }: Writer, { tui, theme }: DialogDeps): Writing {
  const editor = new Editor(tui, editorTheme(theme));
  editor.disableSubmit = true;
  editor.setText(shownText(text));
  const given = editor.getExpandedText();
  return {
    id,
    component: editor,
    // The title is a rule already; the editor's own one is needed only where it counts what is above.
    lines: (width) => {
      const [top = "", ...below] = editor.render(width);
      return top.includes("↑") ? [top, ...below] : below;
    },
    written: () => {
      const now = editor.getExpandedText();
      return { text: now, state: now === given ? "as-given" : "changed" };
    },
    press: (press) => {
      if (press.kind === "paste") editor.handleInput(pasted(press.text));
      else editor.handleInput(press.kind === "key" && press.key === "enter" ? "\n" : press.data);
    },
  };
}

const pasted = (text: string): string => `${pasteStart}${text}${pasteEnd}`;
