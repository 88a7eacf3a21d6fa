import { Editor, matchesKey, type TUI } from "@earendil-works/pi-tui";
import type { ChatHandlers } from "../chat-ui.ts";
import { fromEditable, toEditable, pasteEnd, pasteStart } from "./to-editable.ts";
import type { InputHistory } from "./input-history.ts";
import { editorTheme, type Theme } from "../theme.ts";
import type { Completion } from "./completion.ts";
import { candidatesShown } from "../limits.ts";

interface ChatEditorOptions {
  readonly tui: TUI;
  readonly theme: Theme;
  readonly completion: Completion;
  readonly submit: ChatHandlers["submit"];
  /** Called when the text has changed. */
  readonly changed?: () => void;
}

/**
 * The editor for messages: pi-tui's, which shows long pastes as markers, with the features that it lacks. Its content never
 * holds characters that control the terminal, wherever the text comes from.
 */
export class ChatEditor extends Editor {
  #history: InputHistory | undefined;
  /** Messages sent while the history was still being read. */
  readonly #sentEarly: string[] = [];
  readonly #submit: ChatHandlers["submit"];
  /** The text before the last change: pi-tui clears the editor before it submits. */
  #previousText = "";
  #currentText = "";
  /** Whether the last key moved to a candidate. */
  #isCandidateSelected = false;

  constructor({ tui, theme, completion, submit, changed }: ChatEditorOptions) {
    super(tui, editorTheme(theme), { autocompleteMaxVisible: candidatesShown });
    this.#submit = submit;
    this.setAutocompleteProvider(completion);
    this.onChange = (text) => {
      this.#previousText = this.#currentText;
      this.#currentText = text;
      changed?.();
    };
    this.onSubmit = (text) => this.#send(text);
  }

  /** Uses this history for the arrow keys, and adds new messages to it. */
  remember(history: InputHistory): void {
    this.#history = history;
    for (const entry of history.entries) this.addToHistory(entry);
    for (const text of this.#sentEarly.splice(0)) this.#addSent(text);
  }

  override handleInput(data: string): void {
    const before = this.#currentText;
    if (matchesKey(data, "enter") && !this.#isCandidateTaken()) super.handleInput(escapeKey);
    this.#isCandidateSelected = this.isShowingAutocomplete() && (matchesKey(data, "up") || matchesKey(data, "down"));
    super.handleInput(data.startsWith(pasteStart) ? sanitizePaste(data) : data.replaceAll(c1Controls, ""));
    // pi-tui leaves the cursor before a text from history; as in a shell, typing continues after it.
    if (this.#currentText !== before && matchesKey(data, "up")) this.#goToEnd();
  }

  get isEmpty(): boolean {
    return this.getText() === "";
  }

  /** The text as it would be sent. */
  get typed(): string {
    return fromEditable(this.getExpandedText());
  }

  override setText(text: string): void {
    super.setText(toEditable(text));
  }

  override addToHistory(text: string): void {
    super.addToHistory(toEditable(text));
  }

  /** Inserts the text before the current one. */
  refill(text: string): void {
    const { typed } = this;
    this.setText(typed === "" ? text : `${text}\n${typed}`);
  }

  /** Enter sends the text, unless the user has moved to a candidate or is typing the name of a command. */
  #isCandidateTaken(): boolean {
    return !this.isShowingAutocomplete() || this.#isCandidateSelected || /^\/\S*$/.test(this.getText());
  }

  #goToEnd(): void {
    const last = this.getLines().length - 1;
    for (let page = 0; page < last && this.getCursor().line < last; page += 1) super.handleInput(pageDownKey);
    super.handleInput(endKey);
  }

  #send(text: string): void {
    const message = fromEditable(slashMessage.test(this.#previousText) ? ` ${text}` : text);
    if (message.trim() === "") return;
    this.#addSent(message);
    this.#submit(message);
  }

  #addSent(message: string): void {
    this.addToHistory(message);
    if (this.#history === undefined) this.#sentEarly.push(message);
    else void this.#history.add(message);
  }
}

/** A space before a slash makes it a message, but pi-tui trims what it submits. */
const slashMessage = /^\s+\//;

/** The paste ends at the terminal's end mark, whatever the text contains. */
function sanitizePaste(data: string): string {
  const [text = "", ...rest] = data.slice(pasteStart.length).split(pasteEnd);
  return [`${pasteStart}${toEditable(text)}`, ...rest].join(pasteEnd);
}

/** No key sends them, and some terminals take them for the start of a sequence. */
const c1Controls = /[\u0080-\u009F]/g;

const escapeKey = "\u001B";
const pageDownKey = "\u001B[6~";
const endKey = "\u001B[F";
