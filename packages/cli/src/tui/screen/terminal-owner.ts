import type { ChatState } from "../state/chat-state.ts";
import type { Viewer } from "../viewer/viewer.ts";
import type { BottomArea } from "./bottom-area.ts";
import type { ChatTui } from "./chat-tui.ts";
import type { ScreenProcess } from "./screen-process.ts";
import type { ChatTail } from "./chat-tail.ts";

interface TerminalOwnerParts {
  readonly tui: ChatTui;
  readonly tail: ChatTail;
  readonly bottom: BottomArea;
  readonly viewer: Viewer;
  readonly host: ScreenProcess;
}

/**
 * Tracks what the terminal shows.
 *   nothing ──enter──▶ screen ──openViewer──▶ viewer ──closeViewer──▶ screen
 *   screen, viewer ──leave, restore──▶ nothing
 *   screen, viewer ──suspend──▶ suspended ──continued──▶ screen
 *   screen, viewer ──continued──▶ screen: another process has stopped this one, and used the terminal meanwhile
 */
export class TerminalOwner {
  readonly #parts: TerminalOwnerParts;
  #on: Owner = "nothing";

  constructor(parts: TerminalOwnerParts) {
    this.#parts = parts;
  }

  get on(): Owner {
    return this.#on;
  }

  /** Requests a frame. Only on the screen: if pi-tui gets a request while it is stopped, it never draws again. */
  draw(): void {
    if (this.#on === "screen") this.#parts.tui.requestRender();
  }

  enter(): void {
    const { bottom, tui } = this.#parts;
    this.#on = "screen";
    bottom.resume();
    tui.start();
    tui.drawNow();
  }

  /** Keeps the chat and removes what is below it. */
  leave(): void {
    const { bottom, tui } = this.#parts;
    if (this.#on === "viewer") this.closeViewer();
    if (this.#on !== "screen") return;
    bottom.hide();
    tui.drawNow();
    this.#stop();
  }

  /** Restores the terminal at once and draws nothing: safe before the process ends, even after a crash. */
  restore(): void {
    const { viewer, bottom } = this.#parts;
    if (this.#on === "viewer") viewer.close();
    if (this.#on === "nothing" || this.#on === "suspended") return;
    bottom.pause();
    this.#stop();
  }

  openViewer(state: ChatState): void {
    const { bottom, tui, viewer } = this.#parts;
    if (this.#on !== "screen") return;
    this.#on = "viewer";
    bottom.pause();
    tui.stop({ preserveScreen: true });
    viewer.open(state);
  }

  closeViewer(): void {
    if (this.#on !== "viewer") return;
    this.#parts.viewer.close();
    this.enter();
  }

  suspend(): void {
    this.leave();
    this.#parts.tail.releaseDone();
    this.#on = "suspended";
    this.#parts.host.suspend();
  }

  continued(): void {
    const { tail, tui } = this.#parts;
    // The viewer was overwritten, but the main screen behind it is intact.
    if (this.#on === "viewer") return this.closeViewer();
    if (this.#on === "screen") {
      this.restore();
      tail.releaseDone();
    } else if (this.#on !== "suspended") return;
    tui.beginHere();
    this.enter();
  }

  #stop(): void {
    const { tui } = this.#parts;
    this.#on = "nothing";
    tui.goBelow();
    tui.stop({ preserveScreen: true });
  }
}

type Owner = "screen" | "viewer" | "suspended" | "nothing";
