import type { Agent, OpenAgentOutcome, UserNotice } from "../agent/agent.ts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { toPrintable } from "palimpsest/internal/text/to-printable";
import type { LoopEvent, TurnEndEvent } from "palimpsest/internal/schema/loop-event";
import type { BackgroundRecall } from "../host/background-recall.ts";
import type { Choice } from "../tui/chat-ui.ts";
import { formatBackground } from "../tui/text/status-figures.ts";
import type { SlashCompletion } from "../tui/slash/slash-commands.ts";
import { parseSlash, type SlashOutcome } from "../tui/slash/parse-slash.ts";
import type { ChatCommandContext, ChatCommandOutcome } from "./chat-command.ts";
import { ChatView, type ChatViewDeps } from "./chat-view.ts";
import type { CompletionRequest } from "./commands/completions.ts";
import { CurrentAgent, type OpenAgentRequest, machineRefusal, waitWithTimeout } from "./current-agent.ts";
import {
  type TerminalUi,
  type TerminalUiHandlers,
  type UserPrompts,
  idleNotice,
  observePrompts,
} from "./terminal-ui.ts";
import { closeMillisMax } from "./limits.ts";
import { type BeginOutcome, type FirstSessionRequest, ChatSessions, type ChatSessionsDeps } from "./chat-sessions.ts";
import { isInLog, PendingInput } from "./pending-input.ts";
import { followMail } from "./follow-mail.ts";
import { followTeam } from "./follow-team.ts";
import { ChatTimers } from "./chat-timers.ts";
import { nextPermissionMode } from "./next-permission-mode.ts";
import { savedForGoodText } from "../tui/text/event-lines.ts";
import { type Step, WorkQueue } from "./work-queue.ts";

type Command = Extract<SlashOutcome, { kind: "command" }>;

export interface ChatDeps
  extends Pick<ChatViewDeps, "now">, Pick<ChatCommandContext, "context" | "answerer">, ChatSessionsDeps {
  readonly createUi: (handlers: TerminalUiHandlers) => TerminalUi;
  readonly open: (opening: OpenAgentRequest, user: UserPrompts) => Promise<OpenAgentOutcome>;
  readonly runSlash: (command: Command, context: ChatCommandContext) => Promise<ChatCommandOutcome>;
  readonly complete: (asked: CompletionRequest) => Promise<readonly Choice[]>;
  /** Called after every event. */
  readonly changed?: (agent: Agent, event: LoopEvent | undefined) => void;
  /** Indexes what was said, while the chat rests. */
  readonly recall?: Pick<BackgroundRecall, "replied" | "busy" | "rests"> | undefined;
}

export type ChatOutcome =
  /**
   * The agent is closed, but its state can still be read. `lastTurn`: how the last turn ended; undefined if there was
   * none.
   */
  | { readonly kind: "left"; readonly agent: Agent; readonly lastTurn: TurnEndEvent | undefined }
  /** Before there was an agent. */
  | { readonly kind: "left-early" }
  | Extract<BeginOutcome, { kind: "not-opened" }>;

/**
 * A chat: one agent, one user, one thing at a time.
 *
 *   idle ──message──▶ turn ──ends──▶ idle              turn ──Esc──▶ turn, aborted ──ends──▶ idle: what waited is given back
 *   idle ──command──▶ command ──ends──▶ idle           command ──asks for it──▶ another agent is opened ──▶ idle
 *   any ──quit──▶ leaving: what runs is aborted, the agent closed, memories saved      leaving ──Esc──▶ left at once
 *
 * It begins with a command that opens the first agent. Messages sent meanwhile wait.
 */
export class Chat implements TerminalUiHandlers {
  readonly #deps: ChatDeps;
  readonly #ui: TerminalUi;
  readonly #view: ChatView;
  readonly #leave = Promise.withResolvers<void>();
  /** Esc while the chat waits for its end. */
  readonly #hurry = Promise.withResolvers<void>();
  readonly #current: CurrentAgent;
  readonly #pendingInput: PendingInput;
  readonly #sessions: ChatSessions;
  readonly #timers = new ChatTimers({
    idle: () => void this.#notify(idleNotice),
    typed: () => this.#pendingInput.keep(),
    jobs: () => this.#pollJobs(),
  });
  readonly #work = new WorkQueue({
    next: () => this.#next(),
    begins: () => {
      this.#timers.busy();
      this.#deps.recall?.busy();
    },
    rests: () => this.#onRest(),
    failed: (error) => {
      this.#isLeaving = true;
      this.#leave.reject(error);
    },
  });
  /** What the user does beside a turn: one after the other. */
  #aside: Promise<void> = Promise.resolve();
  #lastTurn: TurnEndEvent | undefined;
  /** Aborted when the agent whose mail and team are followed is left. */
  #mailEnd = new AbortController();
  #isLeaving = false;
  #notOpened: Extract<ChatOutcome, { kind: "not-opened" }> | undefined;

  constructor(deps: ChatDeps) {
    this.#deps = deps;
    this.#ui = deps.createUi(this);
    this.#view = new ChatView({ show: (state) => this.#ui.show(state), now: deps.now });
    const prompts = observePrompts(this.#ui, {
      notify: (notice) => void this.#notify(notice),
      act: (act) => this.#view.act(act),
      interrupt: () => this.interrupt(),
    });
    this.#current = new CurrentAgent({ open: (opening) => deps.open(opening, prompts) });
    this.#pendingInput = new PendingInput({ ui: this.#ui, view: this.#view, current: this.#current, now: deps.now });
    this.#sessions = new ChatSessions({
      ...deps,
      ui: this.#ui,
      view: this.#view,
      current: this.#current,
      waiting: this.#pendingInput,
      isLeaving: () => this.#isLeaving,
      opened: () => this.#onOpened(),
    });
  }

  /** Runs until the user leaves. `message`: sent first. */
  async run(opening: FirstSessionRequest, message?: string): Promise<ChatOutcome> {
    this.#view.change((state) => state);
    this.#ui.start();
    this.#work.start({ kind: "command", run: (signal) => this.#begin(opening, signal) });
    if (message !== undefined) this.submit(message);
    try {
      await this.#leave.promise;
    } finally {
      this.#timers.close();
      this.#mailEnd.abort();
      await this.#end();
    }
    if (this.#notOpened !== undefined) return this.#notOpened;
    if (!this.#current.isThere) return { kind: "left-early" };
    return { kind: "left", agent: this.#current.agent, lastTurn: this.#lastTurn };
  }

  submit(text: string): void {
    if (text.trim() === "" || this.#isLeaving) return;
    this.#pendingInput.forgetGivenBack();
    const slashed = parseSlash(text);
    if (slashed.kind === "invalid") this.#tellInvalid(text, slashed.message);
    else if (slashed.kind === "command" && slashed.name === "quit") this.quit();
    else if (this.#work.kind === undefined) this.#work.start(this.#toStep(text));
    else this.#pendingInput.add(text, slashed.kind === "message" && this.#work.kind === "turn" ? "turn" : "later");
  }

  interrupt(): void {
    if (this.#isLeaving) return this.#hurry.resolve();
    if (this.#work.kind === undefined) return;
    this.#view.act({ kind: "interrupt" });
    this.#work.abort();
  }

  takeBack(): string | undefined {
    return this.#pendingInput.takeBack();
  }

  undoMemories(): void {
    if (!this.#current.isOpen) return;
    // Not queued behind a turn: it touches nothing of the conversation.
    this.#doAside(async () => {
      await this.#runCommand(undoMemoriesCommand, new AbortController().signal);
    });
  }

  nextMode(): void {
    // Each continues from the mode that the one before has set.
    this.#doAside(() => this.#changeMode());
  }

  quit(): void {
    this.#isLeaving = true;
    this.#work.abort();
    this.#leave.resolve();
  }

  async complete(of: SlashCompletion, typed: string): Promise<readonly Choice[]> {
    if (!this.#current.isThere) return [];
    return await this.#deps.complete({ agent: this.#current.agent, of, typed }).catch(() => []);
  }

  typed(): void {
    this.#timers.typed();
  }

  rest(): Promise<void> {
    return this.#work.rest();
  }

  get session(): SessionId {
    return this.#current.agent.session.id;
  }

  async #begin(opening: FirstSessionRequest, signal: AbortSignal): Promise<void> {
    const outcome = await this.#sessions.begin(opening, signal);
    switch (outcome.kind) {
      case "begun":
      case "left":
        return this.#giveBackIfAborted(signal);
      case "not-opened":
        this.#notOpened = outcome;
        return this.quit();
      case "lost":
        return this.quit();
    }
  }

  /** After Esc. If the user leaves, the input stays stored instead. */
  #giveBackIfAborted({ aborted }: AbortSignal): void {
    if (aborted && !this.#isLeaving) this.#pendingInput.giveBack();
  }

  #doAside(work: () => Promise<void>): void {
    this.#aside = this.#aside.then(work).catch((error: unknown) => this.#leave.reject(error));
  }

  async #changeMode(): Promise<void> {
    if (!this.#current.isOpen) return;
    const { agent, widest } = this.#current;
    const changed = await agent.mode.change(nextPermissionMode(agent.mode.current(), widest));
    if (changed.kind === "failed") this.#view.act({ kind: "tell", tone: "error", text: changed.message });
    this.#view.refresh(agent);
    this.#reportChange();
  }

  #tellInvalid(text: string, message: string): void {
    this.#view.act({ kind: "tell", tone: "warning", text: message });
    // With an editor, the text goes back to it: mostly it is a typo.
    if (this.#ui.typed !== undefined) this.#ui.refill(text);
  }

  #next(): Step | undefined {
    const text = this.#isLeaving ? undefined : this.#pendingInput.next();
    return text === undefined ? undefined : this.#toStep(text);
  }

  #onRest(): void {
    if (this.#current.isThere) this.#reportChange();
    if (this.#isLeaving) return;
    this.#timers.idle();
    this.#deps.recall?.rests();
  }

  #toStep(text: string): Step {
    const slashed = parseSlash(text);
    if (slashed.kind !== "command") return { kind: "turn", run: (signal) => this.#turn(text, signal) };
    return {
      kind: "command",
      run: (signal) => {
        this.#view.act({ kind: "print", lines: toPrintable(`> ${text.trim()}`).split("\n") });
        return this.#command(slashed, signal);
      },
    };
  }

  /** `text` is undefined if the turn answers messages of other agents. */
  async #turn(text: string | undefined, signal: AbortSignal): Promise<void> {
    const { agent } = this.#current;
    const from = agent.session.fold.path.length;
    if (text !== undefined) this.#pendingInput.send(text);
    let end = brokenTurn;
    for await (const event of agent.turn(text, signal)) {
      // From here on the log holds the message, and any queued messages that the request shows.
      if (event.kind === "request-start") this.#pendingInput.said();
      if (event.kind === "turn-end") end = event;
      // An agent that a call starts runs a moment after this event.
      if (event.kind === "call-start") this.#timers.jobs();
      this.#view.event(agent, event);
      if (event.kind === "request-start" || event.kind === "message-queued") this.#pendingInput.keep();
      this.#deps.changed?.(agent, event);
    }
    this.#lastTurn = end;
    if (text !== undefined && isInLog(agent, { text, from })) this.#pendingInput.said();
    // If the user leaves, the input stays stored instead.
    if (end.reason !== "answered" && !this.#isLeaving) this.#pendingInput.giveBack();
    this.#pendingInput.keep();
    this.#timers.jobs();
    this.#deps.recall?.replied();
  }

  async #command(command: Command, signal: AbortSignal): Promise<void> {
    const { agent } = this.#current;
    this.#pendingInput.keep();
    const outcome = await this.#runCommand(command, signal);
    this.#giveBackIfAborted(signal);
    switch (outcome.kind) {
      case "stay":
        this.#timers.jobs();
        return this.#view.refresh(agent);
      case "open":
        await this.#aside;
        if ((await this.#sessions.reopen({ asked: outcome, signal })) === "lost") this.quit();
        return;
      case "quit":
        return this.quit();
    }
  }

  /** An error of the machine is shown, and the chat continues; a bug ends it. */
  async #runCommand(command: Command, signal: AbortSignal): Promise<ChatCommandOutcome> {
    const { context, answerer, runSlash } = this.#deps;
    const { agent } = this.#current;
    const act: ChatCommandContext["act"] = (action) => this.#view.act(action);
    try {
      return await runSlash(command, { context, agent, answerer, ui: this.#ui, act, signal });
    } catch (error) {
      const text = machineRefusal(error);
      if (text === undefined) throw error;
      act({ kind: "tell", tone: "error", text: `/${command.name}: ${text}` });
      return { kind: "stay" };
    }
  }

  #onOpened(): void {
    const { agent } = this.#current;
    agent.onBackground((event) => {
      if (this.#isLeaving && event.kind === "memories-saved")
        this.#view.act({ kind: "tell", tone: "plain", text: savedForGoodText(event) });
      else this.#view.event(agent, event);
      this.#deps.changed?.(agent, event);
    });
    agent.dream?.watch(({ status }) => (status === "running" ? this.#timers.jobs() : void this.#pollJobs()));
    this.#view.refresh(agent);
    this.#reportChange();
    // Jobs of the same session go on when it is opened again.
    this.#timers.jobs();
    this.#mailEnd.abort();
    this.#mailEnd = new AbortController();
    followMail(agent, {
      work: this.#work,
      isCurrent: () => this.#current.isOpen && this.#current.agent === agent && !this.#isLeaving,
      tell: (text) => this.#view.act({ kind: "tell", tone: "plain", text }),
      answer: { kind: "turn", run: (signal) => this.#turn(undefined, signal) },
      signal: this.#mailEnd.signal,
    }).catch((error: unknown) => this.#leave.reject(error));
    followTeam(agent, {
      show: (team) => this.#view.act({ kind: "team", team }),
      tell: (text) => this.#view.act({ kind: "tell", tone: "warning", text }),
      signal: this.#mailEnd.signal,
    }).catch((error: unknown) => this.#leave.reject(error));
  }

  #reportChange(): void {
    this.#deps.changed?.(this.#current.agent, undefined);
  }

  async #notify(notice: UserNotice): Promise<void> {
    const messages = await this.#current.agent.notify(notice);
    for (const text of messages) this.#view.act({ kind: "tell", tone: "plain", text });
  }

  /** Jobs end without an event, and so does an extraction that finds nothing to save. */
  #pollJobs(): "some-run" | "none" {
    const before = formatBackground(this.#view.state.status.background);
    this.#view.refresh(this.#current.agent);
    const { background } = this.#view.state.status;
    if (formatBackground(background) !== before) this.#reportChange();
    const { jobs, agents, extraction, dream } = background;
    return jobs + agents > 0 || extraction === "running" || dream === "running" ? "some-run" : "none";
  }

  async #end(): Promise<void> {
    try {
      await waitWithTimeout(this.rest(), closeMillisMax);
      await this.#pendingInput.settled();
      const leaves = this.#pendingInput.isEmpty ? "nothing" : "input";
      const onSaving = (): void => this.#view.act({ kind: "saving" });
      const closed = this.#current.close({ why: "prompt_input_exit", leaves, onSaving });
      await Promise.race([closed, this.#hurry.promise]);
    } finally {
      await this.#ui.stop();
    }
  }
}

const undoMemoriesCommand: Command = { kind: "command", name: "memory", rest: "undo", flags: [] };

/** Stands for a turn that was left before its end. */
const brokenTurn: TurnEndEvent = {
  kind: "turn-end",
  reason: "failed",
  message: "The turn broke off.",
  remedies: ["say-again"],
};
