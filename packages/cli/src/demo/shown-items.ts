import type { Agent } from "../agent/agent.ts";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { drawItem, type Look } from "../tui/draw/item.ts";
import type { CallItem, ChatItem } from "../tui/state/chat-item.ts";
import type { ChatState } from "../tui/state/chat-shape.ts";
import { type ChatAct, chatAfter, newChat } from "../tui/state/chat-state.ts";
import { gapBetween } from "../tui/screen/gaps.ts";
import type { Teller } from "./teller.ts";

export interface ShownOptions extends ClockDep {
  readonly teller: Teller;
  /** Is left out of paths: every run has a folder of its own. */
  readonly cwd: string;
}

/** `brief`: of a call its first line, and of those behind one another about the same thing only the first. */
export type Detail = "full" | "brief";

/** The chat of the demo's sessions, drawn as the chat draws it: each item once, when nothing of it changes any more. */
export class ShownItems {
  readonly #options: ShownOptions;
  #state: ChatState | undefined;
  #drawn = 0;
  #before: ChatItem["kind"] | undefined;
  #called = "";

  constructor(options: ShownOptions) {
    this.#options = options;
  }

  /** From here on the chat of this agent. */
  open({ model, numbers }: Pick<Agent, "model" | "numbers">): void {
    this.#state = newChat({ ...numbers(), model });
    this.#drawn = 0;
    this.#before = undefined;
  }

  event(event: LoopEvent, detail: Detail): Promise<void> {
    return this.after({ kind: "event", event, at: this.#options.now() }, detail);
  }

  /** What comes now stands by itself. */
  rest(): void {
    this.#before = undefined;
  }

  async after(act: ChatAct, detail: Detail): Promise<void> {
    if (this.#state === undefined) throw new Error("no session is open");
    this.#state = chatAfter(this.#state, act);
    for (const item of this.#state.done.from(this.#drawn)) await this.#draw(item, detail);
    this.#drawn = this.#state.done.length;
  }

  async #draw(item: ChatItem, detail: Detail): Promise<void> {
    const { teller, cwd, now } = this.#options;
    const fold = item.kind === "edit" ? "unfolded" : "folded";
    const look = { ...teller.look, fold, now: now() } as const;
    const lines =
      detail === "brief" && item.kind === "call" ? this.#brief(item, look) : drawItem(withoutFolder(item, cwd), look);
    if (lines.length === 0) return;
    const gap = gapBetween(this.#before, item.kind);
    this.#before = item.kind;
    await teller.draw([...gap, ...lines], item.kind === "text" ? "typed" : "whole");
  }

  #brief({ kind, id, call, tool, title, state, summary }: CallItem, look: Look): readonly string[] {
    const called = `${tool} ${title}`;
    const isNew = called !== this.#called;
    this.#called = called;
    return isNew ? drawItem({ kind, id, call, tool, title, state, summary }, look).slice(0, 1) : [];
  }
}

const withoutFolder = (item: ChatItem, cwd: string): ChatItem =>
  item.kind === "call" ? { ...item, summary: item.summary.replaceAll(`${cwd}/`, "") } : item;
