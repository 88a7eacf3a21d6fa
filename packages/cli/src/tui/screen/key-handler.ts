import { isKeyRelease, matchesKey } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { ChatHandlers } from "../chat-ui.ts";
import { type ChatState, isBusy } from "../state/chat-state.ts";
import type { ChatEditor } from "../input/chat-editor.ts";
import { doublePressMillis } from "../limits.ts";
import type { EditorSlot } from "./editor-slot.ts";
import type { Millis } from "palimpsest/internal/schema/brand";
import { pasteStart } from "../input/to-editable.ts";

interface KeyHandlerDeps extends ClockDep {
  readonly handlers: ChatHandlers;
  readonly editor: ChatEditor;
  readonly slot: EditorSlot;
  readonly state: () => ChatState | undefined;
  /** Empty: none. */
  readonly hint: (text: string) => void;
  readonly redraw: () => void;
  readonly openViewer: () => void;
  readonly suspend: () => void;
}

/** Does what the keys of the chat mean. */
export class KeyHandler {
  readonly #deps: KeyHandlerDeps;
  #armed: ArmedKey | undefined;
  #hinting: NodeJS.Timeout | undefined;

  constructor(deps: KeyHandlerDeps) {
    this.#deps = deps;
  }

  /** For pi-tui: `consume` where the key is not for whatever has the focus. */
  press(data: string): { readonly consume: true } | { readonly data: string } | undefined {
    if (isKeyRelease(data)) return undefined;
    const act = keyAction(data, this.#scene());
    if (act.kind !== "arm") this.#disarm();
    if (act.kind === "pass") return act.data === undefined ? undefined : { data: act.data };
    this.#run(act);
    return { consume: true };
  }

  close(): void {
    clearTimeout(this.#hinting);
  }

  #run(act: Exclude<KeyAction, { kind: "pass" }>): void {
    const { handlers, editor, redraw, openViewer, suspend } = this.#deps;
    switch (act.kind) {
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
        return this.#arm(act.act);
    }
  }

  #clear(): void {
    this.#deps.editor.setText("");
    this.#deps.hint("");
  }

  #arm(act: ArmedKey["act"]): void {
    this.#armed = { act, at: this.#deps.now() };
    this.#deps.hint(act === "quit" ? "Ctrl-C once more to quit" : "Esc once more to clear what is typed");
    clearTimeout(this.#hinting);
    this.#hinting = setTimeout(() => this.#disarm(), doublePressMillis);
  }

  #disarm(): void {
    if (this.#armed === undefined) return;
    this.#armed = undefined;
    clearTimeout(this.#hinting);
    this.#deps.hint("");
  }

  #scene(): KeyContext {
    const { editor, slot, now } = this.#deps;
    const state = this.#deps.state();
    return {
      slot: slot.dialog === undefined ? "editor" : "dialog",
      text: editor.isEmpty ? "empty" : "some",
      completion: editor.isShowingAutocomplete() ? "open" : "none",
      work: state !== undefined && isBusy(state.phase) ? "running" : "none",
      queued: state?.queue.length ?? 0,
      armed: this.#armed,
      now: now(),
    };
  }
}

/** What a key finds when it is pressed. */
export interface KeyContext {
  readonly slot: "editor" | "dialog";
  readonly text: "empty" | "some";
  /** Whether candidates are shown below the editor. */
  readonly completion: "open" | "none";
  readonly work: "running" | "none";
  readonly queued: number;
  readonly armed: ArmedKey | undefined;
  readonly now: Millis;
}

/** A key that does something when it comes a second time. */
interface ArmedKey {
  readonly act: "clear" | "quit";
  readonly at: Millis;
}

export type KeyAction =
  /** For the editor or the dialog. */
  | { readonly kind: "pass"; readonly data?: string }
  | { readonly kind: "nothing" }
  | { readonly kind: "interrupt" | "clear" | "take-back" | "next-mode" | "quit" | "redraw" | "viewer" | "suspend" }
  | { readonly kind: "arm"; readonly act: ArmedKey["act"] };

/** Keys that are the chat's own, before whatever has the focus sees them. That one is released is no key. */
export function keyAction(data: string, scene: KeyContext): KeyAction {
  if (data.startsWith(pasteStart)) return passKey;
  const anywhere = globalKeys.find(({ key }) => matchesKey(data, key));
  if (anywhere !== undefined) return { kind: anywhere.act };
  if (scene.slot === "dialog") return passKey;
  if (matchesKey(data, "escape")) return escapeAction(scene);
  if (matchesKey(data, "ctrl+c")) return ctrlCAction(scene);
  if (matchesKey(data, "ctrl+d") && scene.text === "empty") return { kind: "quit" };
  if (matchesKey(data, "shift+tab")) return { kind: "next-mode" };
  if (matchesKey(data, "alt+enter")) return { kind: "pass", data: newLine };
  const isUp = matchesKey(data, "up") && scene.completion === "none";
  return isUp && scene.text === "empty" && scene.queued > 0 ? { kind: "take-back" } : passKey;
}

/** Closes candidates; ends what runs; clears, the second time. */
function escapeAction(scene: KeyContext): KeyAction {
  if (scene.completion === "open") return passKey;
  if (scene.work === "running") return { kind: "interrupt" };
  if (scene.text === "empty") return { kind: "nothing" };
  return isArmed(scene, "clear") ? { kind: "clear" } : { kind: "arm", act: "clear" };
}

function ctrlCAction(scene: KeyContext): KeyAction {
  if (scene.text === "some") return { kind: "clear" };
  return isArmed(scene, "quit") ? { kind: "quit" } : { kind: "arm", act: "quit" };
}

const isArmed = ({ armed, now }: KeyContext, act: ArmedKey["act"]): boolean =>
  armed?.act === act && now - armed.at < doublePressMillis;

const passKey: KeyAction = { kind: "pass" };
/** As the editor takes it. */
const newLine = "\n";

const globalKeys = [
  { key: "ctrl+l", act: "redraw" },
  { key: "ctrl+o", act: "viewer" },
  { key: "ctrl+z", act: "suspend" },
] as const;
