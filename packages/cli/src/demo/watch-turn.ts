import { millis, type ToolUseId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { Agent } from "../agent/agent.ts";
import { formatNumber } from "../text/format.ts";
import { gapBetween } from "../tui/draw/draw-functions.ts";
import { drawItem } from "../tui/draw/draw-item.ts";
import type { ChatItem } from "../tui/state/chat-item.ts";
import type { ChatState } from "../tui/state/chat-state.ts";
import { type ChatAction, updateChat, createChat } from "../tui/state/update-chat.ts";
import { windowTokens } from "./limits.ts";
import type { Narrator } from "./narrator.ts";
import type { DemoPlace } from "./open-demo-agent.ts";
import type { ScriptedModel, ScriptTask } from "./scripted-model.ts";

/** What the chapters of the demo work with. */
export interface DemoContext {
  readonly narrator: Narrator;
  readonly printer: ChatPrinter;
  readonly place: DemoPlace;
  readonly model: ScriptedModel;
  readonly totals: TurnTotals;
  readonly signal: AbortSignal;
}

/** One turn, drawn while it runs if there is a printer. Throws if the turn fails or is aborted. */
export async function runTask(
  { model, totals, signal, printer }: Pick<DemoContext, "model" | "totals" | "signal"> & { printer?: ChatPrinter },
  { agent, task, detail = "full" }: { readonly agent: Agent; readonly task: ScriptTask; readonly detail?: DetailLevel },
): Promise<void> {
  const { says } = task;
  model.startTask(task);
  totals.messages.push(says);
  printer?.startTurn(detail);
  await printer?.apply({ kind: "say", text: says });
  for await (const event of agent.turn(says, signal)) {
    totals.record(event);
    await printer?.apply({ kind: "event", event, at: millis(Date.now()) });
    if (event.kind === "turn-end" && event.reason !== "answered" && event.reason !== "aborted")
      throw new Error(`the demo's turn ended as ${event.reason}: ${event.message ?? "no reason given"}`);
  }
  signal.throwIfAborted();
}

/** The messages of the view: two views are the same if these are. */
export const viewText = ({ session }: Agent): string => JSON.stringify(session.view().messages);

/** What happened in the turns so far. */
export class TurnTotals {
  rounds = 0;
  /** The largest request. */
  peakTokens = 0;
  offloads = 0;
  clears = 0;
  compactions = 0;
  /** Compactions whose summary had been prepared. */
  ahead = 0;
  /** Compactions that followed a refusal. */
  reactive = 0;
  /** Of the summaries that a model wrote, before the repair. */
  readonly auditScores: number[] = [];
  readonly messages: string[] = [];
  readonly calls: ToolUseId[] = [];
  /** The text of the newest reply. */
  reply = "";

  record(event: LoopEvent): void {
    if (event.kind === "request-start") {
      this.rounds += 1;
      this.reply = "";
    }
    // The request for a summary carries everything that the summary covers.
    if (event.kind === "request-start" || event.kind === "compaction-start")
      this.peakTokens = Math.max(this.peakTokens, event.tokens);
    if (event.kind === "text-delta") this.reply += event.text;
    if (event.kind === "call-start") this.calls.push(event.id);
    if (event.kind === "edit" && event.what === "offload") this.offloads += 1;
    if (event.kind === "cleared") this.clears += 1;
    if (event.kind !== "compacted") return;
    this.compactions += 1;
    this.ahead += event.made === "ahead" ? 1 : 0;
    this.reactive += event.cause === "overflow" ? 1 : 0;
    if (event.path !== "extractive") this.auditScores.push(event.auditScore);
  }
}

/** `brief`: only the first line of a call, and consecutive calls with the same title only once. */
type DetailLevel = "full" | "brief";

/** Prints the demo's sessions as the chat draws them: each item once, as soon as it is final. */
export class ChatPrinter {
  readonly #narrator: Narrator;
  /** Left out of paths, because every run has a folder of its own. */
  readonly #cwd: string;
  #detail: DetailLevel = "full";
  #state: ChatState | undefined;
  #drawnCount = 0;
  #lastKind: ChatItem["kind"] | undefined;
  #lastCall = "";

  constructor(narrator: Narrator, cwd: string) {
    this.#narrator = narrator;
    this.#cwd = cwd;
  }

  /** Starts an empty chat with this agent. */
  open({ model, settings }: Pick<Agent, "model" | "settings">): void {
    this.#state = createChat({ ...settings(), model });
    this.#drawnCount = 0;
  }

  startTurn(detail: DetailLevel): void {
    this.#detail = detail;
    this.#lastKind = undefined;
  }

  async apply(action: ChatAction): Promise<void> {
    if (this.#state === undefined) throw new Error("no session is open");
    if (action.kind === "event" && action.event.kind === "request-start")
      this.#narrator.showBelow(formatContextBar(action.event.tokens));
    this.#state = updateChat(this.#state, action);
    for (const item of this.#state.done.from(this.#drawnCount)) await this.#draw(item);
    this.#drawnCount = this.#state.done.length;
  }

  async #draw(item: ChatItem): Promise<void> {
    const lines = this.#lines(item);
    if (lines.length === 0) return;
    const gap = gapBetween(this.#lastKind, item.kind);
    this.#lastKind = item.kind;
    await this.#narrator.draw([...gap, ...lines], item.kind === "text" ? "typed" : "whole");
  }

  #lines(item: ChatItem): readonly string[] {
    const fold = item.kind === "edit" ? "unfolded" : "folded";
    const options = { ...this.#narrator.look, fold, now: millis(Date.now()) } as const;
    if (item.kind !== "call") return drawItem(item, options);
    const { change, ...call } = { ...item, summary: item.summary.replaceAll(`${this.#cwd}/`, "") };
    if (this.#detail === "full") return drawItem(change === undefined ? call : { ...call, change }, options);
    const isRepeated = `${call.tool} ${call.title}` === this.#lastCall;
    this.#lastCall = `${call.tool} ${call.title}`;
    return isRepeated ? [] : drawItem(call, options).slice(0, 1);
  }
}

const barColumns = 24;

function formatContextBar(tokens: number): string {
  const full = Math.min(barColumns, Math.round((tokens / windowTokens) * barColumns));
  return `context [${"█".repeat(full)}${"░".repeat(barColumns - full)}] ${formatNumber(tokens)} of ${formatNumber(windowTokens)} tokens`;
}
