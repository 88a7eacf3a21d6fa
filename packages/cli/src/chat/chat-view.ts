import type { Agent } from "../agent/agent.ts";
import { type Millis, tokens } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import type { ChatState } from "../tui/state/chat-shape.ts";
import { type ChatAct, chatAfter, newChat } from "../tui/state/chat-state.ts";
import { backgroundOf, figuresOf, movesFigures } from "./figures.ts";

export interface ChatViewDeps {
  readonly show: (state: ChatState) => void;
  readonly now: () => Millis;
}

/** What a chat shows, and how it comes to be shown. */
export class ChatView {
  readonly #deps: ChatViewDeps;
  #state: ChatState = {
    ...newChat({ model: "", thresholds: unknown, autoCompact: "off" }),
    phase: { kind: "opening" },
  };

  constructor(deps: ChatViewDeps) {
    this.#deps = deps;
  }

  get state(): ChatState {
    return this.#state;
  }

  act(act: ChatAct): void {
    this.change((state) => chatAfter(state, act));
  }

  change(to: (state: ChatState) => ChatState): void {
    this.#state = to(this.#state);
    this.#deps.show(this.#state);
  }

  event(agent: Agent, event: LoopEvent): void {
    this.#state = chatAfter(this.#state, { kind: "event", event, at: this.#deps.now() });
    if (movesFigures(event)) this.refresh(agent);
    else this.#deps.show(this.#state);
  }

  /** With the figures as they are. */
  refresh(agent: Agent): void {
    this.#state = chatAfter(this.#state, { kind: "figures", figures: figuresOf(agent) });
    this.act({ kind: "background", background: backgroundOf(agent) });
  }
}

/** Until an agent is open nobody knows them. */
const none = tokens(0);
const unknown: Thresholds = {
  window: none,
  outputReserve: none,
  effective: none,
  compact: none,
  limit: none,
  warning: none,
  error: none,
  blocking: none,
};
