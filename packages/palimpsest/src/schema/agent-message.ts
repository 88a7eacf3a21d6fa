import { z } from "zod";
import type { MailboxAddress } from "./brand.ts";
import { messageSummaryCharsMax } from "./limits.ts";

/**
 * What agents say to each other, and what may follow what. A request has an id, which its answer repeats.
 *
 *   text, task_assignment, idle_notice      no state: each stands alone
 *
 *   shutdown, of the agent that is asked    working ──request──▶ asked ──approve──▶ stopping
 *                                           asked ──refuse, with a reason──▶ working
 *   shutdown, of the agent that asks        idle ──request──▶ waiting ──response──▶ idle
 *
 *   plan, of the teammate                   none ──request, to the leader──▶ waiting ──approve──▶ approved
 *                                           waiting ──refuse, with a reason──▶ none
 *                                           approved ──request──▶ waiting          a new plan
 *   plan, of the leader                     idle ──request──▶ asked ──response──▶ idle
 *
 *   stopping ──any request or assignment of its own──▶ refused       it ends; it still answers, talks and gives notice
 *
 * Only the leader answers a plan, and only to whom it was asked by. An answer to no open request is refused, so an answer
 * counts once. An agent's state is the fold of what it sent and received: after a resume it is computed again.
 */
const requestId = z.string().min(1).max(128);
const summary = z.string().max(messageSummaryCharsMax).optional();

/** Refusals say why: without a reason the asking agent can only ask again. */
const answer = { requestId, approve: z.boolean(), reason: z.string().optional() };

export const agentMessageShape = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string(), summary }),
  z.object({ type: z.literal("shutdown_request"), requestId, reason: z.string().optional() }),
  z.object({ type: z.literal("shutdown_response"), ...answer }),
  z.object({ type: z.literal("plan_approval_request"), requestId, plan: z.string() }),
  z.object({ type: z.literal("plan_approval_response"), ...answer }),
  z.object({
    type: z.literal("task_assignment"),
    taskId: z.string(),
    subject: z.string(),
    description: z.string().optional(),
  }),
  z.object({
    type: z.literal("idle_notice"),
    why: z.enum(["available", "interrupted", "failed"]),
    summary,
    /** The task that it finished last. */
    taskId: z.string().optional(),
  }),
]);

export type AgentMessage = z.infer<typeof agentMessageShape>;

/** Characters of what is said, without the form. */
export const countMessageChars = (message: AgentMessage): number =>
  message.type === "text" ? message.text.length + (message.summary?.length ?? 0) : JSON.stringify(message).length;

type RequestKind = "shutdown" | "plan";

interface OpenRequest {
  readonly kind: RequestKind;
  /** The other side: the agent that asked, or that was asked. */
  readonly peer: MailboxAddress;
}

/** The state of one agent. */
export interface AgentProtocol {
  readonly phase: "working" | "stopping";
  readonly plan: "none" | "waiting" | "approved";
  /** Requests of others that it has not answered. */
  readonly askedById: ReadonlyMap<string, OpenRequest>;
  /** Its own requests that are not answered. */
  readonly waitingById: ReadonlyMap<string, OpenRequest>;
}

export const newProtocol: AgentProtocol = {
  phase: "working",
  plan: "none",
  askedById: new Map(),
  waitingById: new Map(),
};

/** Who takes part: the agent whose state it is, the one it talks with, and the team's leader, if there is one. */
interface Participants {
  readonly message: AgentMessage;
  readonly self: MailboxAddress;
  readonly peer: MailboxAddress;
  readonly leader: MailboxAddress | undefined;
}

export type ProtocolStep =
  | { readonly kind: "next"; readonly protocol: AgentProtocol }
  /** Nothing changes. `message` is one line for the sender. */
  | { readonly kind: "refused"; readonly why: ProtocolRefusal; readonly message: string };

export type ProtocolRefusal =
  | "not-the-leader"
  | "not-asked"
  | "already-asked"
  | "needs-a-reason"
  | "already-waiting"
  | "stopping"
  | "to-itself";

/** What a message that the agent is about to send does to its state, or why it must not be sent. */
export function sendMessage(protocol: AgentProtocol, participants: Participants): ProtocolStep {
  const { message, self, peer, leader } = participants;
  switch (message.type) {
    case "text":
    case "idle_notice":
      return { kind: "next", protocol };
    case "task_assignment":
      return protocol.phase === "stopping" ? refuse("stopping") : { kind: "next", protocol };
    case "shutdown_request":
      return askPeer(protocol, { kind: "shutdown", id: message.requestId, self, peer });
    case "plan_approval_request":
      if (leader === undefined || peer !== leader) return refuse("not-the-leader");
      if (protocol.plan === "waiting") return refuse("already-waiting");
      return withPlan(askPeer(protocol, { kind: "plan", id: message.requestId, self, peer }), "waiting");
    case "shutdown_response":
    case "plan_approval_response": {
      const kind = message.type === "shutdown_response" ? "shutdown" : "plan";
      if (kind === "plan" && self !== leader) return refuse("not-the-leader");
      if (!isOpen(protocol.askedById, { id: message.requestId, kind, peer })) return refuse("not-asked");
      if (!message.approve && isBlank(message.reason)) return refuse("needs-a-reason");
      const phase = kind === "shutdown" && message.approve ? "stopping" : protocol.phase;
      return next({ ...protocol, phase, askedById: without(protocol.askedById, message.requestId) });
    }
  }
}

/** What a message that has arrived does to the agent's state, or why it counts for nothing. */
export function receiveMessage(protocol: AgentProtocol, participants: Participants): ProtocolStep {
  const { message, self, peer, leader } = participants;
  switch (message.type) {
    case "text":
    case "idle_notice":
    case "task_assignment":
      return { kind: "next", protocol };
    case "shutdown_request":
      return addAsked(protocol, { kind: "shutdown", id: message.requestId, self, peer });
    case "plan_approval_request":
      if (self !== leader) return refuse("not-the-leader");
      return addAsked(protocol, { kind: "plan", id: message.requestId, self, peer });
    case "shutdown_response":
    case "plan_approval_response": {
      const kind = message.type === "shutdown_response" ? "shutdown" : "plan";
      if (kind === "plan" && peer !== leader) return refuse("not-the-leader");
      if (!isOpen(protocol.waitingById, { id: message.requestId, kind, peer })) return refuse("not-asked");
      const step = next({ ...protocol, waitingById: without(protocol.waitingById, message.requestId) });
      return kind === "plan" ? withPlan(step, message.approve ? "approved" : "none") : step;
    }
  }
}

interface RequestMove {
  readonly kind: RequestKind;
  readonly id: string;
  readonly self: MailboxAddress;
  readonly peer: MailboxAddress;
}

function askPeer(protocol: AgentProtocol, { kind, id, self, peer }: RequestMove): ProtocolStep {
  if (protocol.phase === "stopping") return refuse("stopping");
  if (peer === self) return refuse("to-itself");
  if (protocol.waitingById.has(id)) return refuse("already-waiting");
  return next({ ...protocol, waitingById: new Map(protocol.waitingById).set(id, { kind, peer }) });
}

function addAsked(protocol: AgentProtocol, { kind, id, self, peer }: RequestMove): ProtocolStep {
  if (peer === self) return refuse("to-itself");
  if (protocol.askedById.has(id)) return refuse("already-asked");
  return next({ ...protocol, askedById: new Map(protocol.askedById).set(id, { kind, peer }) });
}

const next = (protocol: AgentProtocol): ProtocolStep => ({ kind: "next", protocol });

const withPlan = (step: ProtocolStep, plan: AgentProtocol["plan"]): ProtocolStep =>
  step.kind === "next" ? next({ ...step.protocol, plan }) : step;

const isOpen = (
  requests: ReadonlyMap<string, OpenRequest>,
  { id, kind, peer }: { readonly id: string; readonly kind: RequestKind; readonly peer: MailboxAddress },
): boolean => requests.get(id)?.kind === kind && requests.get(id)?.peer === peer;

function without<Value>(map: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> {
  const copy = new Map(map);
  copy.delete(key);
  return copy;
}

const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === "";

const textByRefusal: Readonly<Record<ProtocolRefusal, string>> = {
  "not-the-leader": "Only the leader of the team decides on a plan.",
  "not-asked": "There is no open request with this id between the two agents; it may be answered already.",
  "already-asked": "A request with this id is open already.",
  "needs-a-reason": "A refusal needs a reason.",
  "already-waiting": "The last request of this kind is not answered yet.",
  stopping: "The agent has agreed to stop; it asks for nothing more.",
  "to-itself": "An agent can't ask itself.",
};

const refuse = (why: ProtocolRefusal): ProtocolStep => ({ kind: "refused", why, message: textByRefusal[why] });
