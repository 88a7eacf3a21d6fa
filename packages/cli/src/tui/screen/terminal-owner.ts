import { type ChatState, isBusy, type Phase } from "../state/chat-state.ts";
import type { Transcript } from "../chat-ui.ts";
import type { Viewer } from "../viewer/viewer.ts";
import type { ChatTui } from "./chat-tui.ts";
import type { ChatTail } from "./chat-tail.ts";
import type { Component } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Millis } from "palimpsest/internal/schema/brand";
import { spinnerFrameMs, statuslineLinesMax } from "../limits.ts";
import type { DrawingDep } from "../draw/draw-functions.ts";

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
    if (this.#coverScreen() === "covered") this.#parts.viewer.open(state);
  }

  /** Resolves when it is no longer shown. `not-shown`: something else has the terminal. */
  async openTranscript(place: Transcript, signal: AbortSignal): Promise<"shown" | "not-shown"> {
    if (signal.aborted || this.#coverScreen() !== "covered") return "not-shown";
    const { promise, resolve } = Promise.withResolvers<void>();
    const close = (): void => this.closeViewer();
    signal.addEventListener("abort", close, { once: true });
    this.#parts.viewer.openAt(place, resolve);
    await promise;
    signal.removeEventListener("abort", close);
    return "shown";
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

  #coverScreen(): "covered" | "not-on-screen" {
    const { bottom, tui } = this.#parts;
    if (this.#on !== "screen") return "not-on-screen";
    this.#on = "viewer";
    bottom.pause();
    tui.stop({ preserveScreen: true });
    return "covered";
  }

  #stop(): void {
    const { tui } = this.#parts;
    this.#on = "nothing";
    tui.goBelow();
    tui.stop({ preserveScreen: true });
  }
}

type Owner = "screen" | "viewer" | "suspended" | "nothing";

/** The area below the chat, from top to bottom: warning, spinner, queue, editor slot, hint, status. */
export class BottomArea implements Component {
  readonly #deps: DrawingDep & ClockDep & { readonly requestRender: () => void };
  readonly #slot: Component;
  #state: ChatState | undefined;
  /** When the current work began. */
  #since: Millis;
  #spinnerTimer: NodeJS.Timeout | undefined;
  #hint = "";
  #statusline: readonly string[] = [];
  #isHidden = false;

  constructor(deps: DrawingDep & ClockDep & { readonly requestRender: () => void }, slot: Component) {
    this.#deps = deps;
    this.#slot = slot;
    this.#since = deps.now();
  }

  show(state: ChatState): void {
    const isNewPhase = this.#state?.phase.kind !== state.phase.kind;
    if (isNewPhase && isNewWork(this.#state?.phase, state.phase)) this.#since = this.#deps.now();
    this.#state = state;
    this.#updateTimer();
  }

  setHint(hint: string): void {
    this.#hint = hint;
  }

  setStatusline(lines: readonly string[]): void {
    this.#statusline = lines.slice(0, statuslineLinesMax);
  }

  /** Draws nothing from now on, and stops the timer. */
  hide(): void {
    this.#isHidden = true;
    this.#updateTimer();
  }

  /** Stops the spinner while something else has the screen. */
  pause(): void {
    clearInterval(this.#spinnerTimer);
    this.#spinnerTimer = undefined;
  }

  resume(): void {
    this.#isHidden = false;
    this.#updateTimer();
  }

  invalidate(): void {
    this.#slot.invalidate();
  }

  render(width: number): string[] {
    const { drawing, now } = this.#deps;
    const state = this.#state;
    if (this.#isHidden) return [];
    const slot = this.#slot.render(width);
    if (state === undefined) return slot;
    const { status, phase, queue } = state;
    return [
      "",
      ...drawing.warning(status, width),
      ...drawing.phase(phase, { width, now: now(), since: this.#since }),
      ...drawing.queue(queue, width),
      ...slot,
      ...(this.#hint === "" ? [] : drawing.hint(this.#hint, width)),
      ...drawing.status(status, width),
      ...this.#statusline.map((line) => drawing.styled(line, width)),
    ];
  }

  #updateTimer(): void {
    const isNeeded = !this.#isHidden && this.#state !== undefined && this.#state.phase.kind !== "idle";
    if (!isNeeded) this.pause();
    else this.#spinnerTimer ??= setInterval(this.#deps.requestRender, spinnerFrameMs);
  }
}

/** Seconds count from when the agent began to work; a compaction has its own count. */
const isNewWork = (before: Phase | undefined, after: Phase): boolean =>
  before === undefined || !isBusy(before) || before.kind === "compacting" || after.kind === "compacting";

/** What a screen needs of its process. */
export interface ScreenProcess {
  /** Returns a function that removes the listener. */
  on(event: ProcessEvent, listener: () => void): () => void;
  /** Stops the process until it is continued, as Ctrl-Z does outside raw mode. */
  suspend(): void;
}

/** `crash`: an uncaught error is about to be printed. `exit`: the process ends, for whatever reason. `gone`: the terminal was closed. */
export type ProcessEvent = "continue" | "hangup" | "interrupt" | "terminate" | "crash" | "exit" | "gone";

export function createScreenProcess(host: NodeJS.Process): ScreenProcess {
  return {
    suspend: () => {
      // Without input and timers, the process would end as soon as it is continued.
      const alive = setInterval(() => {}, aliveMillis);
      host.once("SIGCONT", () => clearInterval(alive));
      host.kill(wholeGroup, "SIGTSTP");
    },
    on: (event, listener) =>
      event === "gone" ? listenForGone(host, listener) : listenTo(host, nameByEvent[event], listener),
  };
}

/** Signals the whole process group, as the terminal does: the parent and the child processes too. */
const wholeGroup = 0;
/** The value does not matter: the timer does nothing. */
const aliveMillis = 60_000;

function listenTo(host: NodeJS.EventEmitter, name: string, listener: () => void): () => void {
  host.on(name, listener);
  return () => void host.off(name, listener);
}

/** If the terminal is closed, the input ends or a write fails. */
function listenForGone({ stdin, stdout }: NodeJS.Process, listener: () => void): () => void {
  const unlisten = [
    listenTo(stdin, "end", listener),
    listenTo(stdin, "error", listener),
    listenTo(stdout, "error", listener),
  ];
  return () => {
    for (const remove of unlisten) remove();
  };
}

const nameByEvent = {
  continue: "SIGCONT",
  hangup: "SIGHUP",
  // Sent by other processes: in raw mode Ctrl-C is a key and no signal.
  interrupt: "SIGINT",
  terminate: "SIGTERM",
  crash: "uncaughtExceptionMonitor",
  exit: "exit",
} as const satisfies Record<Exclude<ProcessEvent, "gone">, string>;
