import type { Agent } from "../agent/agent.ts";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { formatNumber } from "../text/format.ts";
import type { Narrator } from "./narrator.ts";
import { windowTokens } from "./limits.ts";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { drawItem, type DrawItemOptions } from "../tui/draw/draw-item.ts";
import type { CallItem, ChatItem } from "../tui/state/chat-item.ts";
import type { ChatState } from "../tui/state/chat-state.ts";
import { type ChatAction, updateChat, createChat } from "../tui/state/update-chat.ts";
import { gapBetween } from "../tui/draw/draw-functions.ts";
import type { DemoPlace } from "./open-demo-agent.ts";
import type { ScriptedModel, ScriptTask } from "./scripted-model.ts";

/** What happened in the turns so far. */
interface TurnTotals {
  rounds: number;
  /** The largest request. */
  peakTokens: number;
  offloads: number;
  clears: number;
  compactions: number;
  /** Of them: those whose summary had been prepared, and those that a refusal asked for. */
  ahead: number;
  reactive: number;
  /** Of summaries by a model, before the repair. */
  readonly auditScores: number[];
  readonly says: string[];
  readonly calls: ToolUseId[];
  /** What the model said in the newest reply. */
  reply: string;
}

export const emptyTotals = (): TurnTotals => ({
  rounds: 0,
  peakTokens: 0,
  offloads: 0,
  clears: 0,
  compactions: 0,
  ahead: 0,
  reactive: 0,
  auditScores: [],
  says: [],
  calls: [],
  reply: "",
});

interface WatchTurnInput {
  readonly agent: Agent;
  readonly says: string;
  readonly signal: AbortSignal;
  /** Goes on with it. */
  readonly watched: TurnTotals;
}

/** One turn, drawn while it runs where there is a screen. Throws where nothing was answered, or it was stopped. */
export async function watchTurn(
  turn: WatchTurnInput,
  screen?: { readonly teller: Narrator; readonly shown: ChatPrinter; readonly detail: DetailLevel },
): Promise<void> {
  const { agent, says, signal, watched } = turn;
  watched.says.push(says);
  await screen?.shown.apply({ kind: "say", text: says }, screen.detail);
  for await (const event of agent.turn(says, signal)) {
    recordEvent(watched, event);
    if (event.kind === "request-start") screen?.teller.showBelow(formatContextBar(event.tokens));
    await screen?.shown.event(event, screen.detail);
    if (event.kind === "turn-end" && event.reason !== "answered" && event.reason !== "aborted")
      throw new Error(`the demo's turn ended as ${event.reason}: ${event.message ?? "no reason given"}`);
  }
  signal.throwIfAborted();
}

function recordEvent(watched: TurnTotals, event: LoopEvent): void {
  if (event.kind === "request-start") {
    watched.rounds += 1;
    watched.reply = "";
  }
  // The fork that is asked for a summary carries all that it covers.
  if (event.kind === "request-start" || event.kind === "compaction-start")
    watched.peakTokens = Math.max(watched.peakTokens, event.tokens);
  if (event.kind === "text-delta") watched.reply += event.text;
  if (event.kind === "call-start") watched.calls.push(event.id);
  if (event.kind === "edit" && event.what === "offload") watched.offloads += 1;
  if (event.kind === "cleared") watched.clears += 1;
  if (event.kind !== "compacted") return;
  watched.compactions += 1;
  watched.ahead += event.made === "ahead" ? 1 : 0;
  watched.reactive += event.cause === "overflow" ? 1 : 0;
  if (event.path !== "extractive") watched.auditScores.push(event.auditScore);
}

const barColumns = 24;

function formatContextBar(tokens: number): string {
  const full = Math.min(barColumns, Math.round((tokens / windowTokens) * barColumns));
  return `context [${"█".repeat(full)}${"░".repeat(barColumns - full)}] ${formatNumber(tokens)} of ${formatNumber(windowTokens)} tokens`;
}

interface ChatPrinterOptions extends ClockDep {
  readonly teller: Narrator;
  /** Is left out of paths: every run has a folder of its own. */
  readonly cwd: string;
}

/** `brief`: of a call its first line, and of those behind one another about the same thing only the first. */
type DetailLevel = "full" | "brief";

/** The chat of the demo's sessions, drawn as the chat draws it: each item once, when nothing of it changes any more. */
export class ChatPrinter {
  readonly #options: ChatPrinterOptions;
  #state: ChatState | undefined;
  #drawn = 0;
  #before: ChatItem["kind"] | undefined;
  #called = "";

  constructor(options: ChatPrinterOptions) {
    this.#options = options;
  }

  /** From here on the chat of this agent. */
  open({ model, numbers }: Pick<Agent, "model" | "numbers">): void {
    this.#state = createChat({ ...numbers(), model });
    this.#drawn = 0;
    this.#before = undefined;
  }

  event(event: LoopEvent, detail: DetailLevel): Promise<void> {
    return this.apply({ kind: "event", event, at: this.#options.now() }, detail);
  }

  /** What comes now stands by itself. */
  separate(): void {
    this.#before = undefined;
  }

  async apply(act: ChatAction, detail: DetailLevel): Promise<void> {
    if (this.#state === undefined) throw new Error("no session is open");
    this.#state = updateChat(this.#state, act);
    for (const item of this.#state.done.from(this.#drawn)) await this.#draw(item, detail);
    this.#drawn = this.#state.done.length;
  }

  async #draw(item: ChatItem, detail: DetailLevel): Promise<void> {
    const { teller, cwd, now } = this.#options;
    const fold = item.kind === "edit" ? "unfolded" : "folded";
    const look = { ...teller.look, fold, now: now() } as const;
    const lines =
      detail === "brief" && item.kind === "call" ? this.#brief(item, look) : drawItem(stripFolder(item, cwd), look);
    if (lines.length === 0) return;
    const gap = gapBetween(this.#before, item.kind);
    this.#before = item.kind;
    await teller.draw([...gap, ...lines], item.kind === "text" ? "typed" : "whole");
  }

  #brief({ kind, id, call, tool, title, state, summary }: CallItem, look: DrawItemOptions): readonly string[] {
    const called = `${tool} ${title}`;
    const isNew = called !== this.#called;
    this.#called = called;
    return isNew ? drawItem({ kind, id, call, tool, title, state, summary }, look).slice(0, 1) : [];
  }
}

const stripFolder = (item: ChatItem, cwd: string): ChatItem =>
  item.kind === "call" ? { ...item, summary: item.summary.replaceAll(`${cwd}/`, "") } : item;

/** What the chapters of the demo work with. */
export interface DemoContext {
  readonly teller: Narrator;
  readonly shown: ChatPrinter;
  readonly place: DemoPlace;
  readonly model: ScriptedModel;
  readonly watched: TurnTotals;
  readonly signal: AbortSignal;
}

/** A message of the person's, and all that the agent makes of it. */
export async function runTask(
  stage: DemoContext,
  { agent, task, detail = "full" }: { readonly agent: Agent; readonly task: ScriptTask; readonly detail?: DetailLevel },
): Promise<void> {
  const { teller, shown, model, watched, signal } = stage;
  model.startTask(task);
  shown.separate();
  await watchTurn({ agent, says: task.says, signal, watched }, { teller, shown, detail });
}
