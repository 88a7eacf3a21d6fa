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
  /** What is typed is another now. */
  readonly changed?: () => void;
}

/**
 * Where a person types: pi-tui's editor, with its marks for long pastes, and what it lacks. Whatever comes into it, from
 * wherever, holds nothing that drives the terminal.
 */
export class ChatEditor extends Editor {
  #history: InputHistory | undefined;
  /** Sent while the history was still being read. */
  readonly #sentBefore: string[] = [];
  readonly #submit: ChatHandlers["submit"];
  /** What stood there before the last change: when it is sent, pi-tui has cleared it already. */
  #before = "";
  #now = "";
  /** By the key before. */
  #isMovedTo = false;

  constructor({ tui, theme, completion, submit, changed }: ChatEditorOptions) {
    super(tui, editorTheme(theme), { autocompleteMaxVisible: candidatesShown });
    this.#submit = submit;
    this.setAutocompleteProvider(completion);
    this.onChange = (text) => {
      this.#before = this.#now;
      this.#now = text;
      changed?.();
    };
    this.onSubmit = (text) => this.#send(text);
  }

  /** What was typed here before, for the arrow keys; from now on it is added to. */
  remember(history: InputHistory): void {
    this.#history = history;
    for (const entry of history.entries) this.addToHistory(entry);
    for (const sent of this.#sentBefore.splice(0)) this.#remembered(sent);
  }

  override handleInput(data: string): void {
    const before = this.#now;
    if (matchesKey(data, "enter") && !this.#isCandidateMeant()) super.handleInput(escapeKey);
    this.#isMovedTo = this.isShowingAutocomplete() && (matchesKey(data, "up") || matchesKey(data, "down"));
    super.handleInput(data.startsWith(pasteStart) ? sanitizePaste(data) : data.replaceAll(c1Controls, ""));
    // pi-tui leaves the cursor before what comes from history; as in a shell, one goes on typing behind it.
    if (this.#now !== before && matchesKey(data, "up")) this.#goToEnd();
  }

  get isEmpty(): boolean {
    return this.getText() === "";
  }

  /** As it would be sent. */
  get typed(): string {
    return fromEditable(this.getExpandedText());
  }

  override setText(text: string): void {
    super.setText(toEditable(text));
  }

  override addToHistory(text: string): void {
    super.addToHistory(toEditable(text));
  }

  /** Before what stands there. */
  refill(text: string): void {
    const { typed } = this;
    this.setText(typed === "" ? text : `${text}\n${typed}`);
  }

  /** Enter sends what is typed. It takes a candidate that was gone to, and finishes the name of a command. */
  #isCandidateMeant(): boolean {
    return !this.isShowingAutocomplete() || this.#isMovedTo || /^\/\S*$/.test(this.getText());
  }

  #goToEnd(): void {
    const last = this.getLines().length - 1;
    for (let page = 0; page < last && this.getCursor().line < last; page += 1) super.handleInput(pageDownKey);
    super.handleInput(endKey);
  }

  #send(text: string): void {
    const whole = fromEditable(slashMessage.test(this.#before) ? ` ${text}` : text);
    if (whole.trim() === "") return;
    this.#remembered(whole);
    this.#submit(whole);
  }

  #remembered(sent: string): void {
    this.addToHistory(sent);
    if (this.#history === undefined) this.#sentBefore.push(sent);
    else void this.#history.add(sent);
  }
}

/** A space before a slash makes a message of it, and pi-tui trims what it sends. */
const slashMessage = /^\s+\//;

/** Whatever is pasted, its end is where the terminal says. */
function sanitizePaste(data: string): string {
  const [text = "", ...behind] = data.slice(pasteStart.length).split(pasteEnd);
  return [`${pasteStart}${toEditable(text)}`, ...behind].join(pasteEnd);
}

/** Some terminals take them for the beginning of a sequence. No key sends them. */
const c1Controls = /[\u0080-\u009F]/g;

const escapeKey = "\u001B";
const pageDownKey = "\u001B[6~";
const endKey = "\u001B[F";
