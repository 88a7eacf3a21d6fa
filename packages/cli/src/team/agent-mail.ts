import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { renderAgentMessage } from "palimpsest/internal/layers/7-agents/render-agent-message";
import type { Agents } from "palimpsest/internal/ports/agents";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Envelope, EnvelopeDraft, Mailbox, MailboxesDep, SendOutcome } from "palimpsest/internal/ports/mailbox";
import type { TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import {
  formatAddress,
  parseReceiver,
  sessionAddress,
  teammateAddress,
} from "palimpsest/internal/schema/agent-address";
import {
  type AgentMessage,
  type AgentProtocol,
  receiveMessage,
  sendMessage,
} from "palimpsest/internal/schema/agent-message";
import { envelopeId, type MailboxAddress } from "palimpsest/internal/schema/brand";
import { textField } from "palimpsest/internal/schema/json";
import { arrivedMessageDraft, readProtocol, sentMessageDraft } from "palimpsest/internal/session/read-protocol";
import { SessionMail } from "palimpsest/internal/session/session-mail";
import type { Session } from "palimpsest/internal/session/session";
import { toSingleLine } from "palimpsest/internal/text/to-printable";
import { agentMessageAttachmentType } from "palimpsest/internal/transcript/attachment-text";
import type { MessageOutcome, MessageSender, OutgoingMessage } from "../tool/send-message-tool.ts";
import { mailboxLookMs, newsCharsMax } from "./limits.ts";
import type { TeamMembership } from "./team-membership.ts";

export interface AgentMailDeps extends MailboxesDep, TranscriptsDep, ClockDep {
  /** Ids of the sessions that are open on this machine: a message makes a mailbox for them. */
  readonly openSessions: () => Promise<readonly string[]>;
}

interface AgentMailInput {
  readonly session: Pick<Session, "id" | "append" | "fold">;
  /** Undefined if the session is in no team. */
  readonly membership: TeamMembership | undefined;
}

interface OpenBox {
  readonly mailbox: Mailbox;
  readonly mail: SessionMail;
}

/**
 * The mail of one session: what it gets, and what it sends. It has the mailbox `bridge:<session>`, which a sender makes
 * when it is first needed, and as a member of a team `name@team`.
 */
export class AgentMail implements MessageSender {
  readonly membership: TeamMembership | undefined;
  readonly #deps: AgentMailDeps;
  readonly #session: AgentMailInput["session"];
  readonly #own: MailboxAddress;
  readonly #boxes = new Map<MailboxAddress, OpenBox>();
  #protocol: Promise<AgentProtocol> | undefined;
  #agents: Agents | undefined;
  #news: string[] = [];
  #lastFailure = "";
  #isClosed = false;
  /** One after the other: the wake-up of an idle chat and a turn may both want the mail. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: AgentMailDeps, { session, membership }: AgentMailInput) {
    this.#deps = deps;
    this.#session = session;
    this.#own = sessionAddress(session.id);
    this.membership = membership;
  }

  /** In whose name messages are sent. */
  get self(): MailboxAddress {
    return this.membership?.self ?? this.#own;
  }

  /** The session's own agents come first among receivers. Called before the session's tools are created. */
  reachAgents(agents: Agents): void {
    this.#agents = agents;
  }

  /** Whether the session has other agents to talk to: then it has a tool for it. */
  get hasPeers(): boolean {
    return this.membership !== undefined || this.#agents !== undefined;
  }

  /** Each new message becomes one entry of the transcript, exactly once. Returns the new ones. Must not reject. */
  drain(): Promise<readonly Envelope[]> {
    return this.#inTurn(async () => {
      const handled: Envelope[] = [];
      if (this.#isClosed) return handled;
      for (const { mailbox, mail } of await this.#openBoxes()) {
        // Without mail nothing is read of the log, which may be long.
        const unread = await mailbox.unread();
        if (unread.kind === "failed") this.#reportFailure(unread.message);
        if (unread.kind === "failed" || unread.envelopes.length === 0) continue;
        let protocol = await this.#state();
        const drained = await mail.drain((envelope) => {
          const step = this.#receive(protocol, { envelope, self: mailbox.address });
          if (step.kind === "next") protocol = step.protocol;
          const refusal = step.kind === "refused" ? step.message : undefined;
          return arrivedMessageDraft(envelope, renderAgentMessage({ ...envelope, refusal }));
        });
        // Only what was recorded: a message that could not be written arrives again.
        for (const envelope of drained.handled) await this.#apply({ envelope, self: mailbox.address });
        handled.push(...drained.handled);
      }
      this.#news.push(...handled.map(newsLine));
      return handled;
    });
  }

  /** Waits for what is being read or sent. From now on nothing arrives: messages wait for the session's next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }

  /** Resolves when something is unread. Must not reject. */
  async waitForNews(signal: AbortSignal): Promise<"news" | "aborted"> {
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    const boxes = await this.#openBoxes();
    const waits = boxes.map(({ mailbox }) => mailbox.waitForNews(either));
    const news = await Promise.race([...waits, this.#waitForOwnBox(either)]);
    done.abort();
    return signal.aborted ? "aborted" : news;
  }

  /** Whether the conversation ends with messages that no reply has followed. */
  get isUnanswered(): boolean {
    const { path } = this.#session.fold;
    let isMail = false;
    path.findLastIndex(({ entry }) => {
      isMail = entry.kind === "attachment" && textField(entry.attachment, "type") === agentMessageAttachmentType;
      return isMail || entry.kind === "assistant" || entry.kind === "user";
    });
    return isMail;
  }

  /** The requests of others that are open, and whether the agent has agreed to stop. */
  state(): Promise<AgentProtocol> {
    return this.#state();
  }

  /** One line for the user about each message that has arrived; each is returned once. */
  takeNews(): readonly string[] {
    return this.#news.splice(0);
  }

  send(message: OutgoingMessage): Promise<MessageOutcome> {
    return this.#inTurn(async () =>
      this.#isClosed
        ? refuse("The session is closed.")
        : ((await this.#sendToAgent(message)) ?? (await this.#sendMail(message))),
    );
  }

  /** Undefined if none of the session's own agents is meant. */
  async #sendToAgent({ to, body }: OutgoingMessage): Promise<MessageOutcome | undefined> {
    const names = this.#agents?.list().flatMap(({ id, name }) => [id, name]) ?? [];
    // Without a team, all others are the session's own agents.
    const isForAll = to === "*" && this.membership === undefined;
    if (this.#agents === undefined || (!isForAll && !names.includes(to))) return undefined;
    if (body.type !== "text") return refuse(`${to} is an agent of this session: it takes plain words.`);
    const from = { kind: "agent", name: this.membership?.name ?? "main" } as const;
    const outcome = await this.#agents.send({ to, text: body.text, from });
    switch (outcome.kind) {
      case "queued":
        return sent(`Sent to ${outcome.run.name}, which gets it before its next request.`);
      case "resumed":
        return sent(`Sent to ${outcome.run.name}, which had ended and goes on with it.`);
      case "all":
        return outcome.names.length === 0 ? refuse("No agent runs.") : sent(`Sent to ${outcome.names.join(", ")}.`);
      case "main":
        return refuse("That is you.");
      case "unknown":
        return refuse(`There is no agent ${to} any more. There are ${outcome.names.join(", ") || "none"}.`);
      case "refused":
        return refuse(outcome.message);
    }
  }

  async #sendMail({ id, to, body }: OutgoingMessage): Promise<MessageOutcome> {
    const peer = this.#findPeer(to);
    const protocol = await this.#state();
    const leader = this.membership?.leader;
    if (peer === undefined && body.type !== "text") return refuse("Ask one agent at a time: * is for plain words.");
    const step =
      peer === undefined ? undefined : sendMessage(protocol, { message: body, self: this.self, peer, leader });
    if (step?.kind === "refused") return refuse(step.message);
    // A socket takes messages of sessions only.
    const from = to.startsWith("uds:") ? this.#own : this.self;
    const draft = { id: uniqueId(this.#session.id, id), from, to, at: this.#deps.now(), body };
    const outcome = await this.#deliver(draft);
    if (outcome.kind !== "sent") return refuse(this.#withAgents(outcome));
    const record = peer === undefined ? undefined : sentMessageDraft({ from: this.self, to: peer, message: body });
    if (record !== undefined) await this.#session.append(record);
    if (step?.kind === "next") this.#protocol = Promise.resolve(step.protocol);
    return sent(`Sent to ${outcome.delivered.join(", ")}.`);
  }

  /** A session that is open has a mailbox as soon as somebody writes to it. */
  async #deliver(draft: EnvelopeDraft): Promise<SendOutcome> {
    const { mailboxes, openSessions } = this.#deps;
    return deliverMail({ mailboxes, openSessions }, draft);
  }

  /** The names of the session's own agents belong to the answer as well. */
  #withAgents(outcome: Exclude<SendOutcome, { kind: "sent" }>): string {
    const names = this.#agents?.list().map(({ name }) => name) ?? [];
    if (outcome.kind !== "unknown-receiver" || names.length === 0) return outcome.message;
    return `${outcome.message} This session's own agents: ${names.join(", ")}.`;
  }

  /** Undefined for all teammates, and for what is no address. */
  #findPeer(to: string): MailboxAddress | undefined {
    const receiver = parseReceiver(to);
    switch (receiver.kind) {
      case "name":
        return teammateAddress(receiver.name, this.membership?.team ?? this.#session.id);
      case "teammate":
      case "session":
      case "socket":
        return formatAddress(receiver);
      case "all":
      case "unreadable":
        return undefined;
    }
  }

  /** Once, not before each request. */
  #reportFailure(message: string): void {
    if (message !== this.#lastFailure) this.#news.push(message);
    this.#lastFailure = message;
  }

  #receive(protocol: AgentProtocol, { envelope, self }: ReceivedEnvelope) {
    const leader = this.membership?.leader;
    return receiveMessage(protocol, { message: envelope.body, self, peer: envelope.from, leader });
  }

  async #apply(received: ReceivedEnvelope): Promise<void> {
    const step = this.#receive(await this.#state(), received);
    if (step.kind === "next") this.#protocol = Promise.resolve(step.protocol);
  }

  /** Read from the log when it is first needed. */
  #state(): Promise<AgentProtocol> {
    const input = { session: this.#session.id, leader: this.membership?.leader };
    return (this.#protocol ??= readProtocol(this.#deps, input));
  }

  async #openBoxes(): Promise<readonly OpenBox[]> {
    const { mailboxes, transcripts } = this.#deps;
    const wanted = [...(this.membership === undefined ? [] : [this.membership.self]), this.#own];
    for (const address of wanted) {
      if (this.#boxes.has(address)) continue;
      // Looking makes no files: a session that nobody writes to leaves nothing behind.
      if (address === this.#own && !(await mailboxes.list()).includes(address)) continue;
      const opened = await mailboxes.open(address);
      if (opened.kind === "failed") continue;
      const { mailbox } = opened;
      this.#boxes.set(address, { mailbox, mail: new SessionMail({ mailbox, session: this.#session, transcripts }) });
    }
    return [...this.#boxes.values()];
  }

  /** Never, if the session's own mailbox is there already. */
  async #waitForOwnBox(signal: AbortSignal): Promise<"news" | "aborted"> {
    if (this.#boxes.has(this.#own)) return new Promise(() => undefined);
    const { mailboxes } = this.#deps;
    while (!signal.aborted) {
      if ((await mailboxes.list()).includes(this.#own)) return "news";
      await wait(mailboxLookMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    return "aborted";
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

interface ReceivedEnvelope {
  readonly envelope: Envelope;
  /** The mailbox that it came to. */
  readonly self: MailboxAddress;
}

/** Sends it; a session that is open and has no mailbox yet gets one. Must not reject. */
export async function deliverMail(
  { mailboxes, openSessions }: Pick<AgentMailDeps, "mailboxes" | "openSessions">,
  draft: EnvelopeDraft,
): Promise<SendOutcome> {
  const first = await mailboxes.send(draft);
  const receiver = parseReceiver(draft.to);
  if (first.kind !== "unknown-receiver" || receiver.kind !== "session") return first;
  const open = await openSessions();
  if (!open.includes(receiver.session)) {
    const others = open.slice(0, openShownMax).map((id) => `bridge:${id}`);
    const known = others.length === 0 ? "none is open" : `open are ${others.join(", ")}`;
    return { kind: "unknown-receiver", message: `No session ${receiver.session} is open in this home; ${known}.` };
  }
  const made = await mailboxes.open(formatAddress(receiver));
  return made.kind === "failed" ? { ...made, delivered: [] } : mailboxes.send(draft);
}

const openShownMax = 10;

/** Tool calls of two sessions may have the same id, and a mailbox stores each id once. */
const uniqueId = (session: string, id: string) =>
  envelopeId(createHash("sha256").update(`${session}\n${id}`).digest("hex"));

/** On one line, without control characters. */
export const joinLines = (text: string): string => toSingleLine(text.replaceAll(/\s+/g, " ").trim());

const newsLine = ({ from, body }: Envelope): string => {
  const text = joinLines(messageText(body));
  const shown = text.length > newsCharsMax ? `${text.slice(0, newsCharsMax - 1)}…` : text;
  return `Message from ${from}${shown === "" ? "" : `: ${shown}`}`;
};

function messageText(body: AgentMessage): string {
  switch (body.type) {
    case "text":
      return body.summary ?? body.text;
    case "idle_notice":
      return `idle (${body.why})${body.summary === undefined ? "" : `: ${body.summary}`}`;
    case "shutdown_request":
      return `please stop${body.reason === undefined ? "" : `: ${body.reason}`}`;
    case "shutdown_response":
      return body.approve ? "stops" : `goes on: ${body.reason ?? ""}`;
    case "plan_approval_request":
      return `asks for approval of a plan: ${body.plan}`;
    case "plan_approval_response":
      return body.approve ? "approves the plan" : `refuses the plan: ${body.reason ?? ""}`;
    case "task_assignment":
      return `assigns ${body.taskId}: ${body.subject}`;
  }
}

const sent = (message: string): MessageOutcome => ({ kind: "sent", message });
const refuse = (message: string): MessageOutcome => ({ kind: "refused", message });
