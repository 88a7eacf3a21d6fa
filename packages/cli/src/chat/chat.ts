import type { Agent, AgentOpened, PersonWanted } from "../agent/agent.ts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { printable } from "palimpsest/internal/schema/printable";
import type { LoopEvent, TurnEndEvent } from "palimpsest/internal/schema/event";
import { typedText } from "palimpsest/internal/transcript/person";
import type { Choice, ChatUi } from "../tui/chat-ui.ts";
import type { SlashCompletion } from "../tui/slash/commands.ts";
import { parseSlash, type Slashed } from "../tui/slash/parse.ts";
import type { ChatCommandContext, ChatCommandOutcome } from "./chat-command.ts";
import { ChatView, type ChatViewDeps } from "./chat-view.ts";
import type { Completing } from "./commands/completions.ts";
import { CurrentAgent, type Opening } from "./current-agent.ts";
import type { ChatFront, FrontHandlers } from "./front.ts";
import { closeMillisMax } from "./limits.ts";
import { nextModeOf } from "./modes.ts";
import { idleNotice, whoIsWaitedFor } from "./person-waited-for.ts";
import { refusalOf } from "./refusal.ts";
import { type Begun, type FirstOpening, Sessions, type SessionsDeps } from "./sessions.ts";
import { unlessLate } from "./unless-late.ts";
import { Waiting } from "./waiting.ts";
import { Watches } from "./watches.ts";
import { type Step, Work } from "./work.ts";

type Command = Extract<Slashed, { kind: "command" }>;

export interface ChatDeps
  extends Pick<ChatViewDeps, "now">, Pick<ChatCommandContext, "context" | "answerer">, SessionsDeps {
  readonly front: (handlers: FrontHandlers) => ChatFront;
  readonly open: (opening: Opening, person: Pick<ChatUi, "permission" | "question" | "review">) => Promise<AgentOpened>;
  readonly runSlash: (command: Command, context: ChatCommandContext) => Promise<ChatCommandOutcome>;
  readonly complete: (asked: Completing) => Promise<readonly Choice[]>;
  /** Told behind everything that happens. */
  readonly changed?: (agent: Agent, event: LoopEvent | undefined) => void;
}

export type ChatEnd =
  /** The agent is closed; what it knows can still be asked. `lastTurn`: how the last one ended; undefined without any. */
  | { readonly kind: "left"; readonly agent: Agent; readonly lastTurn: TurnEndEvent | undefined }
  /** Before there was an agent. */
  | { readonly kind: "left-early" }
  | Extract<Begun, { kind: "not-opened" }>;

/**
 * A chat: one agent, one person, one thing at a time.
 *
 *   idle ──message──▶ turn ──ends──▶ idle              turn ──Esc──▶ turn, aborted ──ends──▶ idle: what waited is given back
 *   idle ──command──▶ command ──ends──▶ idle           command ──says so──▶ another agent is opened ──▶ idle
 *   any ──quit──▶ leaving: what runs is aborted, the agent closed
 *
 * It begins with a command that opens the first agent. What is sent meanwhile waits.
 */
export class Chat implements FrontHandlers {
  readonly #deps: ChatDeps;
  readonly #front: ChatFront;
  readonly #view: ChatView;
  readonly #left = Promise.withResolvers<void>();
  readonly #current: CurrentAgent;
  readonly #waiting: Waiting;
  readonly #sessions: Sessions;
  readonly #watches = new Watches({
    idle: () => void this.#notify(idleNotice),
    typed: () => this.#waiting.keep(),
    jobs: () => this.#jobsSeen(),
  });
  readonly #work = new Work({
    next: () => this.#next(),
    begins: () => this.#watches.busy(),
    rests: () => this.#rests(),
    failed: (error) => {
      this.#isLeaving = true;
      this.#left.reject(error);
    },
  });
  #modes: Promise<void> = Promise.resolve();
  #lastTurn: TurnEndEvent | undefined;
  #isLeaving = false;
  #notOpened: Extract<ChatEnd, { kind: "not-opened" }> | undefined;

  constructor(deps: ChatDeps) {
    this.#deps = deps;
    this.#front = deps.front(this);
    this.#view = new ChatView({ show: (state) => this.#front.show(state), now: deps.now });
    const person = whoIsWaitedFor(this.#front, {
      notify: (notice) => void this.#notify(notice),
      act: (act) => this.#view.act(act),
      interrupt: () => this.interrupt(),
    });
    this.#current = new CurrentAgent({ open: (opening) => deps.open(opening, person) });
    this.#waiting = new Waiting({ front: this.#front, view: this.#view, current: this.#current, now: deps.now });
    this.#sessions = new Sessions({
      ...deps,
      front: this.#front,
      view: this.#view,
      current: this.#current,
      waiting: this.#waiting,
      isLeaving: () => this.#isLeaving,
      opened: () => this.#opened(),
    });
  }

  /** Until the person leaves. `message`: what it begins with. */
  async run(opening: FirstOpening, message?: string): Promise<ChatEnd> {
    this.#view.change((state) => state);
    this.#front.start();
    this.#work.start({ kind: "command", run: (signal) => this.#begin(opening, signal) });
    if (message !== undefined) this.submit(message);
    try {
      await this.#left.promise;
    } finally {
      this.#watches.close();
      await this.#end();
    }
    if (this.#notOpened !== undefined) return this.#notOpened;
    if (!this.#current.isThere) return { kind: "left-early" };
    return { kind: "left", agent: this.#current.agent, lastTurn: this.#lastTurn };
  }

  submit(text: string): void {
    if (text.trim() === "" || this.#isLeaving) return;
    this.#waiting.forgetGivenBack();
    const slashed = parseSlash(text);
    if (slashed.kind === "told") this.#tellWrong(text, slashed.message);
    else if (slashed.kind === "command" && slashed.name === "quit") this.quit();
    else if (this.#work.kind === undefined) this.#work.start(this.#stepOf(text));
    else this.#waiting.add(text, slashed.kind === "message" && this.#work.kind === "turn" ? "turn" : "later");
  }

  interrupt(): void {
    if (this.#work.kind === undefined) return;
    this.#view.act({ kind: "interrupt" });
    this.#work.abort();
  }

  takeBack(): string | undefined {
    return this.#waiting.takeBack();
  }

  nextMode(): void {
    // One behind the other: each goes on from what the one before has set.
    this.#modes = this.#modes.then(() => this.#changeMode()).catch((error: unknown) => this.#left.reject(error));
  }

  quit(): void {
    this.#isLeaving = true;
    this.#work.abort();
    this.#left.resolve();
  }

  async complete(of: SlashCompletion, typed: string): Promise<readonly Choice[]> {
    if (!this.#current.isThere) return [];
    return await this.#deps.complete({ agent: this.#current.agent, of, typed }).catch(() => []);
  }

  typed(): void {
    this.#watches.typed();
  }

  rest(): Promise<void> {
    return this.#work.rest();
  }

  get session(): SessionId {
    return this.#current.agent.session.id;
  }

  async #begin(opening: FirstOpening, signal: AbortSignal): Promise<void> {
    const begun = await this.#sessions.begin(opening, signal);
    switch (begun.kind) {
      case "begun":
      case "left":
        return this.#giveBackWhere(signal);
      case "not-opened":
        this.#notOpened = begun;
        return this.quit();
      case "lost":
        return this.quit();
    }
  }

  /** By Esc. Where a person leaves, it stays kept instead. */
  #giveBackWhere({ aborted }: AbortSignal): void {
    if (aborted && !this.#isLeaving) this.#waiting.giveBack();
  }

  async #changeMode(): Promise<void> {
    if (!this.#current.isOpen) return;
    const { agent, widest } = this.#current;
    const changed = await agent.mode.change(nextModeOf(agent.mode.current(), widest));
    if (changed.kind === "failed") this.#view.act({ kind: "tell", tone: "error", text: changed.message });
    this.#view.refresh(agent);
    this.#changed();
  }

  #tellWrong(text: string, message: string): void {
    this.#view.act({ kind: "tell", tone: "warning", text: message });
    // Where there is an editor: mostly it is a slip of a letter.
    if (this.#front.typed !== undefined) this.#front.refill(text);
  }

  #next(): Step | undefined {
    const text = this.#isLeaving ? undefined : this.#waiting.next();
    return text === undefined ? undefined : this.#stepOf(text);
  }

  #rests(): void {
    if (this.#current.isThere) this.#changed();
    if (!this.#isLeaving) this.#watches.idle();
  }

  #stepOf(text: string): Step {
    const slashed = parseSlash(text);
    if (slashed.kind !== "command") return { kind: "turn", run: (signal) => this.#turn(text, signal) };
    return {
      kind: "command",
      run: (signal) => {
        this.#view.act({ kind: "print", lines: printable(`> ${text.trim()}`).split("\n") });
        return this.#command(slashed, signal);
      },
    };
  }

  async #turn(text: string, signal: AbortSignal): Promise<void> {
    const { agent } = this.#current;
    const from = agent.session.fold.path.length;
    this.#waiting.send(text);
    let end = brokenTurn;
    for await (const event of agent.turn(text, signal)) {
      // From here on it is in the log, and so is what was queued when it is told.
      if (event.kind === "request-start") this.#waiting.said();
      if (event.kind === "turn-end") end = event;
      this.#view.event(agent, event);
      if (event.kind === "request-start" || event.kind === "message-queued") this.#waiting.keep();
      this.#deps.changed?.(agent, event);
    }
    this.#lastTurn = end;
    if (isWritten(agent, { text, from })) this.#waiting.said();
    // Where a person leaves, it stays kept instead.
    if (end.reason !== "answered" && !this.#isLeaving) this.#waiting.giveBack();
    this.#waiting.keep();
    this.#watches.jobs();
  }

  async #command(command: Command, signal: AbortSignal): Promise<void> {
    const { agent } = this.#current;
    this.#waiting.keep();
    const outcome = await this.#outcomeOf(command, signal);
    this.#giveBackWhere(signal);
    switch (outcome.kind) {
      case "stay":
        return this.#view.refresh(agent);
      case "open":
        await this.#modes;
        if ((await this.#sessions.reopen({ asked: outcome, signal })) === "lost") this.quit();
        return;
      case "quit":
        return this.quit();
    }
  }

  /** What the machine refuses is told, and the chat goes on; a bug ends it. */
  async #outcomeOf(command: Command, signal: AbortSignal): Promise<ChatCommandOutcome> {
    const { context, answerer, runSlash } = this.#deps;
    const { agent } = this.#current;
    const act: ChatCommandContext["act"] = (one) => this.#view.act(one);
    try {
      return await runSlash(command, { context, agent, answerer, ui: this.#front, act, signal });
    } catch (error) {
      const text = refusalOf(error);
      if (text === undefined) throw error;
      act({ kind: "tell", tone: "error", text: `/${command.name}: ${text}` });
      return { kind: "stay" };
    }
  }

  #opened(): void {
    this.#view.refresh(this.#current.agent);
    this.#changed();
    // Those of the same session run on when it is opened again.
    this.#watches.jobs();
  }

  #changed(): void {
    this.#deps.changed?.(this.#current.agent, undefined);
  }

  async #notify(notice: PersonWanted): Promise<void> {
    const told = await this.#current.agent.notify(notice);
    for (const text of told) this.#view.act({ kind: "tell", tone: "plain", text });
  }

  /** They end without an event. */
  #jobsSeen(): "some-run" | "none" {
    this.#view.refresh(this.#current.agent);
    return this.#view.state.status.background.jobs > 0 ? "some-run" : "none";
  }

  async #end(): Promise<void> {
    try {
      await unlessLate(this.rest(), closeMillisMax);
      await this.#waiting.settled();
      const leaves = this.#waiting.isEmpty ? "nothing" : "input";
      await this.#current.close({ why: "prompt_input_exit", leaves });
    } finally {
      await this.#front.stop();
    }
  }
}

/** Whether the log holds the message that a turn began with. */
const isWritten = ({ session }: Agent, { text, from }: { readonly text: string; readonly from: number }): boolean =>
  session.fold.path.loggedFrom(from).some(({ entry }) => typedText(entry) === text.trim());

/** Of a turn that was left before its end. */
const brokenTurn: TurnEndEvent = {
  kind: "turn-end",
  reason: "failed",
  message: "The turn broke off.",
  remedies: ["say-again"],
};
