import { isKeyRelease } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import type { ChatHandlers } from "../chat-ui.ts";
import { type ChatState, isAtWork } from "../state/chat-shape.ts";
import type { ChatEditor } from "./chat-editor.ts";
import { actOfKey, type Armed, type KeyAct, type Scene } from "./keys.ts";
import { twiceMillis } from "./limits.ts";
import type { Slot } from "./slot.ts";

export interface KeyHandlingDeps extends ClockDep {
  readonly handlers: ChatHandlers;
  readonly editor: ChatEditor;
  readonly slot: Slot;
  readonly state: () => ChatState | undefined;
  /** Empty: none. */
  readonly hint: (text: string) => void;
  readonly redraw: () => void;
  readonly openViewer: () => void;
  readonly suspend: () => void;
}

/** Does what the keys of the chat mean. */
export class KeyHandling {
  readonly #deps: KeyHandlingDeps;
  #armed: Armed | undefined;
  #hinting: NodeJS.Timeout | undefined;

  constructor(deps: KeyHandlingDeps) {
    this.#deps = deps;
  }

  /** For pi-tui: `consume` where the key is not for whatever has the focus. */
  press(data: string): { readonly consume: true } | { readonly data: string } | undefined {
    if (isKeyRelease(data)) return undefined;
    const act = actOfKey(data, this.#scene());
    if (act.kind !== "arm") this.#disarm();
    if (act.kind === "pass") return act.data === undefined ? undefined : { data: act.data };
    this.#run(act);
    return { consume: true };
  }

  close(): void {
    clearTimeout(this.#hinting);
  }

  #run(act: Exclude<KeyAct, { kind: "pass" }>): void {
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

  #arm(act: Armed["act"]): void {
    this.#armed = { act, at: this.#deps.now() };
    this.#deps.hint(act === "quit" ? "Ctrl-C once more to quit" : "Esc once more to clear what is typed");
    clearTimeout(this.#hinting);
    this.#hinting = setTimeout(() => this.#disarm(), twiceMillis);
  }

  #disarm(): void {
    if (this.#armed === undefined) return;
    this.#armed = undefined;
    clearTimeout(this.#hinting);
    this.#deps.hint("");
  }

  #scene(): Scene {
    const { editor, slot, now } = this.#deps;
    const state = this.#deps.state();
    return {
      slot: slot.dialog === undefined ? "editor" : "dialog",
      text: editor.isEmpty ? "empty" : "some",
      completion: editor.isShowingAutocomplete() ? "open" : "none",
      work: state !== undefined && isAtWork(state.phase) ? "running" : "none",
      queued: state?.queue.length ?? 0,
      armed: this.#armed,
      now: now(),
    };
  }
}
