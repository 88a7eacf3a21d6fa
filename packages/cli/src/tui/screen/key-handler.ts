import { isKeyRelease, matchesKey, type Component, type Focusable } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { ChatHandlers } from "../chat-ui.ts";
import { type ChatState, hasFreshMemories, isBusy } from "../state/chat-state.ts";
import type { ChatEditor } from "../input/chat-editor.ts";
import { doublePressMillis } from "../limits.ts";
import type { Millis } from "palimpsest/internal/schema/brand";
import { pasteStart } from "../input/to-editable.ts";
import type { Dialog } from "../dialog/dialog.ts";

interface KeyHandlerDeps extends ClockDep {
  readonly handlers: ChatHandlers;
  readonly editor: ChatEditor;
  readonly slot: EditorSlot;
  readonly state: () => ChatState | undefined;
  /** Shows a hint; an empty text removes it. */
  readonly hint: (text: string) => void;
  readonly redraw: () => void;
  readonly openViewer: () => void;
  readonly suspend: () => void;
}

/** Handles the keys of the chat. */
export class KeyHandler {
  readonly #deps: KeyHandlerDeps;
  #armed: ArmedKey | undefined;
  #hintTimer: NodeJS.Timeout | undefined;

  constructor(deps: KeyHandlerDeps) {
    this.#deps = deps;
  }

  /** An input listener of pi-tui: `consume` keeps the key from the focused component. */
  press(data: string): { readonly consume: true } | { readonly data: string } | undefined {
    if (isKeyRelease(data)) return undefined;
    const action = keyAction(data, this.#context());
    if (action.kind !== "arm") this.#disarm();
    if (action.kind === "pass") return action.data === undefined ? undefined : { data: action.data };
    this.#run(action);
    return { consume: true };
  }

  close(): void {
    clearTimeout(this.#hintTimer);
  }

  #run(action: Exclude<KeyAction, { kind: "pass" }>): void {
    const { handlers, editor, redraw, openViewer, suspend } = this.#deps;
    switch (action.kind) {
      case "nothing":
        return;
      case "interrupt":
        return handlers.interrupt();
      case "clear":
        return this.#clear();
      case "take-back": {
        const text = handlers.takeBack();
        return text === undefined ? undefined : editor.refill(text);
      }
      case "undo-memories":
        return handlers.undoMemories();
      case "next-mode":
        return handlers.nextMode();
      case "quit":
        return handlers.quit();
      case "redraw":
        return redraw();
      case "viewer":
        return openViewer();
      case "suspend":
        return suspend();
      case "arm":
        return this.#arm(action.act);
    }
  }

  #clear(): void {
    this.#deps.editor.setText("");
    this.#deps.hint("");
  }

  #arm(act: ArmedKey["act"]): void {
    this.#armed = { act, at: this.#deps.now() };
    this.#deps.hint(act === "quit" ? "Ctrl-C once more to quit" : "Esc once more to clear what is typed");
    clearTimeout(this.#hintTimer);
    this.#hintTimer = setTimeout(() => this.#disarm(), doublePressMillis);
  }

  #disarm(): void {
    if (this.#armed === undefined) return;
    this.#armed = undefined;
    clearTimeout(this.#hintTimer);
    this.#deps.hint("");
  }

  #context(): KeyContext {
    const { editor, slot, now } = this.#deps;
    const state = this.#deps.state();
    return {
      slot: slot.dialog === undefined ? "editor" : "dialog",
      text: editor.isEmpty ? "empty" : "some",
      completion: editor.isShowingAutocomplete() ? "open" : "none",
      work: state !== undefined && isBusy(state.phase) ? "running" : "none",
      queued: state?.queue.length ?? 0,
      memories: state !== undefined && hasFreshMemories(state) ? "fresh" : "none",
      armed: this.#armed,
      now: now(),
    };
  }
}

/** The situation in which a key is pressed. */
export interface KeyContext {
  readonly slot: "editor" | "dialog";
  readonly text: "empty" | "some";
  /** Whether candidates are shown below the editor. */
  readonly completion: "open" | "none";
  readonly work: "running" | "none";
  readonly queued: number;
  /** `fresh`: saved in the background since the user last said something. */
  readonly memories: "fresh" | "none";
  readonly armed: ArmedKey | undefined;
  readonly now: Millis;
}

/** A key that takes effect when it is pressed a second time. */
interface ArmedKey {
  readonly act: "clear" | "quit";
  readonly at: Millis;
}

export type KeyAction =
  /** The key goes to the editor or the dialog. */
  | { readonly kind: "pass"; readonly data?: string }
  | { readonly kind: "nothing" }
  | { readonly kind: "interrupt" | "clear" | "take-back" | "undo-memories" | "next-mode" }
  | { readonly kind: "quit" | "redraw" | "viewer" | "suspend" }
  | { readonly kind: "arm"; readonly act: ArmedKey["act"] };

/** Handles keys before the focused component gets them. Must not be called for key releases. */
export function keyAction(data: string, context: KeyContext): KeyAction {
  if (data.startsWith(pasteStart)) return passKey;
  const globalKey = globalKeys.find(({ key }) => matchesKey(data, key));
  if (globalKey !== undefined) return { kind: globalKey.act };
  if (context.slot === "dialog") return passKey;
  if (matchesKey(data, "escape")) return escapeAction(context);
  if (matchesKey(data, "ctrl+c")) return ctrlCAction(context);
  if (matchesKey(data, "ctrl+d") && context.text === "empty") return { kind: "quit" };
  if (matchesKey(data, "shift+tab")) return { kind: "next-mode" };
  if (matchesKey(data, "ctrl+r") && context.memories === "fresh") return { kind: "undo-memories" };
  if (matchesKey(data, "alt+enter")) return { kind: "pass", data: newLine };
  const isUp = matchesKey(data, "up") && context.completion === "none";
  return isUp && context.text === "empty" && context.queued > 0 ? { kind: "take-back" } : passKey;
}

/** Closes the candidates, or interrupts the turn, or clears the editor at the second press. */
function escapeAction(context: KeyContext): KeyAction {
  if (context.completion === "open") return passKey;
  if (context.work === "running") return { kind: "interrupt" };
  if (context.text === "empty") return { kind: "nothing" };
  return isArmed(context, "clear") ? { kind: "clear" } : { kind: "arm", act: "clear" };
}

function ctrlCAction(context: KeyContext): KeyAction {
  if (context.text === "some") return { kind: "clear" };
  return isArmed(context, "quit") ? { kind: "quit" } : { kind: "arm", act: "quit" };
}

const isArmed = ({ armed, now }: KeyContext, act: ArmedKey["act"]): boolean =>
  armed?.act === act && now - armed.at < doublePressMillis;

const passKey: KeyAction = { kind: "pass" };
/** The line break that the editor expects. */
const newLine = "\n";

const globalKeys = [
  { key: "ctrl+l", act: "redraw" },
  { key: "ctrl+o", act: "viewer" },
  { key: "ctrl+z", act: "suspend" },
] as const;

/** Shows the editor, or a dialog in its place. Dialogs wait for each other, in the order of the requests. */
export class EditorSlot implements Component {
  readonly #editor: Component & Focusable;
  readonly #focus: (component: Component & Focusable) => void;
  #dialog: Dialog<unknown> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(editor: Component & Focusable, focus: (component: Component & Focusable) => void) {
    this.#editor = editor;
    this.#focus = focus;
  }

  get dialog(): Dialog<unknown> | undefined {
    return this.#dialog;
  }

  /** Creates the dialog when its turn comes. On abort it closes with its harmless answer. Never rejects. */
  async ask<Answer>(create: () => Dialog<Answer>, signal: AbortSignal): Promise<Answer> {
    const previous = this.#last;
    const closed = Promise.withResolvers<void>();
    this.#last = closed.promise;
    await previous;
    const dialog = create();
    const cancel = (): void => dialog.cancel();
    if (signal.aborted) cancel();
    else this.#show(dialog);
    signal.addEventListener("abort", cancel);
    try {
      return await dialog.answered;
    } finally {
      signal.removeEventListener("abort", cancel);
      if (this.#dialog === dialog) this.#show(undefined);
      closed.resolve();
    }
  }

  render(width: number): string[] {
    return (this.#dialog ?? this.#editor).render(width);
  }

  invalidate(): void {
    this.#editor.invalidate();
    this.#dialog?.invalidate();
  }

  #show(dialog: Dialog<unknown> | undefined): void {
    this.#dialog = dialog;
    this.#focus(dialog ?? this.#editor);
  }
}
