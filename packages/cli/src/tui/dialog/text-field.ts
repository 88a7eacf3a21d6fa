import { Editor, type Focusable, Input, isKeyRelease, parseKey } from "@earendil-works/pi-tui";
import { sanitizeText } from "../draw/sanitize-text.ts";
import { pasteEnd, pasteStart } from "../input/to-editable.ts";
import { editorTheme } from "../theme.ts";
import type { DialogDeps, TextFieldSpec, FieldText } from "./dialog.ts";
import { linePasteCharsMax } from "../limits.ts";

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

/** One key press, text or paste in the terminal's input. */
export type Press =
  /** `key` as pi-tui spells it, in lower case: `y`, `enter`, `ctrl+s`. */
  | { readonly kind: "key"; readonly key: string; readonly data: string }
  /** Text that is no single key, such as from an input method. */
  | { readonly kind: "text"; readonly data: string }
  /** Without control characters other than line breaks and tabs. */
  | { readonly kind: "paste"; readonly text: string };

interface ReadPressesOutcome {
  /** The text of an unfinished paste. */
  readonly pasting: string | undefined;
  readonly presses: readonly Press[];
}

/** A paste is one press, even if it arrives in several chunks: none of its characters is a key. */
export function readPresses(pasting: string | undefined, data: string): ReadPressesOutcome {
  const presses: Press[] = [];
  let open = pasting;
  let rest = data;
  while (rest !== "") {
    if (open === undefined) {
      const start = rest.indexOf(pasteStart);
      presses.push(...parsePress(start === -1 ? rest : rest.slice(0, start)));
      if (start === -1) break;
      open = "";
      rest = rest.slice(start + pasteStart.length);
    }
    const pasted: string = open + rest;
    const end = pasted.indexOf(pasteEnd);
    if (end === -1) return { pasting: pasted, presses };
    presses.push({ kind: "paste", text: stripUntypeable(pasted.slice(0, end)) });
    rest = pasted.slice(end + pasteEnd.length);
    open = undefined;
  }
  return { pasting: open, presses };
}

function parsePress(data: string): readonly Press[] {
  if (data === "" || isKeyRelease(data)) return [];
  const key = parseKey(data) ?? wheelKey(data);
  if (key !== undefined) return [{ kind: "key", key: /^[A-Z]$/.test(key) ? key.toLowerCase() : key, data }];
  // The mouse wheel, or a key that is held down, may send several sequences at once.
  const sequences = data.match(controlSequence) ?? [];
  if (sequences.length > 1 && sequences.join("") === data) return sequences.flatMap(parsePress);
  // A kitty terminal sends letters as sequences; any other data with control characters was not typed.
  return data.startsWith("\x1b[") || !/\p{Cc}/u.test(data) ? [{ kind: "text", data }] : [];
}

/** Terminals that report the mouse send the wheel as this sequence; others send arrow keys for it. */
function wheelKey(data: string): "up" | "down" | undefined {
  // oxlint-disable-next-line no-control-regex
  const button = /^\x1b\[<(\d+);\d+;\d+M$/.exec(data)?.[1];
  if (button === undefined || (Number(button) & wheelBit) === 0) return undefined;
  return (Number(button) & 1) === 0 ? "up" : "down";
}

const wheelBit = 64;
// oxlint-disable-next-line no-control-regex
const controlSequence = /\x1b(?:\[[\d;:<=>?]*[ -/]*[@-~]|O[A-Z])/g;

/** Removes characters from a paste that cannot be typed: those without a width, or that change the text direction. */
const stripUntypeable = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (typeableControls.has(character) ? character : ""));

/** Line breaks, tabs, and the joiners of letters and emoji. */
const typeableControls: ReadonlySet<string> = new Set(["\n", "\t", "\u200C", "\u200D"]);
