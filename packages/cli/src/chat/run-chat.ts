import type { AgentOptions, SessionChoice } from "../agent/agent-options.ts";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { agentFailure, turnExitCode } from "../session/session-failure.ts";
import { BackgroundRecall, startCatchUpThread } from "../host/background-recall.ts";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { Chat, type ChatDeps, type ChatOutcome } from "./chat.ts";
import type { ChatHost } from "./chat-host.ts";
import type { TerminalUi, TerminalUiHandlers } from "./terminal-ui.ts";
import { withEndSignals } from "../program/stop-signal.ts";
import { type OnDemandStatusline, statuslineOnDemand } from "../statusline/statusline-on-demand.ts";
import { type Answerer, formatCost } from "../text/format.ts";

export interface ChatRequest extends Pick<AgentOptions, "model" | "flags" | "tools" | "team" | "socket"> {
  readonly session: SessionChoice | { readonly kind: "choose" };
  readonly message: string | undefined;
  /** Whether typed input without a session that can be resumed is given back in this one. */
  readonly leftInput: "taken-up" | "left-alone";
  /** `any`: whatever the terminal supports. */
  readonly ui: "plain" | "any";
}

/** A chat from its first line to its last. The prompt comes first; the agent is loaded after it. */
export async function runChat(context: CommandContext, request: ChatRequest): Promise<Outcome> {
  const { session, flags, message, model } = request;
  const inputFrom = isTerminal(context) ? "terminal" : "pipe";
  const loadHost = loadHostOnce(async () => {
    const { openChatHost } = await import("./chat-host.ts");
    return openChatHost({ ...request, context, inputFrom, now });
  });
  const statusline = statuslineOnDemand(async (show) => (await requireHost(loadHost)).statusline(show));
  const createUi = await loadUi({ context, request, loadHost, inputFrom });
  const recall = inputFrom === "terminal" ? openBackgroundRecall(context) : undefined;
  const chat = new Chat({
    ...chatDeps({
      context,
      request,
      loadHost,
      statusline,
      createUi: (handlers) => statusline.behind(createUi(handlers)),
    }),
    recall,
  });
  const outcome = await withEndSignals(
    () => chat.quit(),
    () => chat.run({ session, flags }, message),
  ).finally(() => statusline.close());
  await recall?.close();
  if (outcome.kind === "not-opened")
    return agentFailure(outcome.opened, "Add --fork to go on in a session of its own.");
  if (outcome.kind === "left-early") return exitCode.fine;
  await sayFarewell(context, { end: outcome, answerer: model.kind });
  return chatExitCode(outcome);
}

const openBackgroundRecall = ({ env, cwd }: CommandContext): BackgroundRecall =>
  new BackgroundRecall({ now, start: () => startCatchUpThread({ env, cwd }) });

type LoadHost = () => Promise<ChatHost | WriteFailure>;

/** Loads on the first call. */
function loadHostOnce(load: LoadHost): LoadHost {
  let loading: ReturnType<LoadHost> | undefined;
  return () => (loading ??= load());
}

interface ChatParts {
  readonly context: CommandContext;
  readonly request: ChatRequest;
  readonly loadHost: LoadHost;
  readonly statusline: OnDemandStatusline;
  readonly createUi: (handlers: TerminalUiHandlers) => TerminalUi;
}

function chatDeps({ context, request, loadHost, statusline, createUi }: ChatParts): ChatDeps {
  return {
    context,
    answerer: request.model.kind,
    now,
    createUi,
    open: async (opening, user) => {
      const loaded = await loadHost();
      return isFailed(loaded) ? loaded : loaded.open(opening, user);
    },
    runSlash: async (command, chat) => (await import("./commands/run-slash-command.ts")).runSlashCommand(command, chat),
    complete: async (completion) => (await import("./commands/completions.ts")).completions(context, completion),
    past: async (agent) => (await requireHost(loadHost)).past(agent),
    keptPath: async (of) => {
      const loaded = await loadHost();
      return isFailed(loaded) ? undefined : loaded.keptPath(of);
    },
    leftInput:
      request.leftInput === "left-alone"
        ? undefined
        : async (current) => (await requireHost(loadHost)).leftInput(current),
    sessions: async () => {
      const loaded = await loadHost();
      return isFailed(loaded) ? [] : await loaded.sessions();
    },
    notice: async (agent) => (await requireHost(loadHost)).notice(agent),
    trust: {
      pending: async () => {
        const loaded = await loadHost();
        return isFailed(loaded) ? undefined : loaded.trust.pending();
      },
      decide: async (as) => (await requireHost(loadHost)).trust.decide(as),
    },
    imports: {
      pending: async () => {
        const loaded = await loadHost();
        return isFailed(loaded) ? [] : await loaded.imports.pending();
      },
      answer: async (realPath, answer) => (await requireHost(loadHost)).imports.answer(realPath, answer),
      decide: async (as, realPaths) => (await requireHost(loadHost)).imports.decide(as, realPaths),
    },
    approvals: {
      pending: async () => (await requireHost(loadHost)).approvals.pending(),
      approve: async (approvals) => (await requireHost(loadHost)).approvals.approve(approvals),
      refuse: async (approvals) => (await requireHost(loadHost)).approvals.refuse(approvals),
    },
    changed: statusline.changed,
  };
}

const isFailed = (loaded: ChatHost | WriteFailure): loaded is WriteFailure => "kind" in loaded;

/** For callers that run after an agent was opened with it. */
async function requireHost(loadHost: LoadHost): Promise<ChatHost> {
  const loaded = await loadHost();
  if (isFailed(loaded)) throw new Error(loaded.message);
  return loaded;
}

const isTerminal = ({ stdin, out }: CommandContext): boolean =>
  "isTTY" in stdin && stdin.isTTY === true && out.isTerminal;

interface UiInput extends Pick<ChatParts, "context" | "request" | "loadHost"> {
  readonly inputFrom: "terminal" | "pipe";
}

async function loadUi({ context, request, loadHost, inputFrom }: UiInput): Promise<ChatParts["createUi"]> {
  if (request.ui === "plain" || inputFrom === "pipe" || context.env["TERM"] === "dumb") {
    const { createPlainUi } = await import("./plain/create-plain-ui.ts");
    return (handlers) => createPlainUi({ context, handlers, now, inputFrom });
  }
  const { createScreenUi } = await import("./create-screen-ui.ts");
  const history = async () => {
    const loaded = await loadHost();
    return isFailed(loaded) ? undefined : loaded.history;
  };
  const detail: ChatHost["detail"] = async (session, item) => (await requireHost(loadHost)).detail(session, item);
  return (handlers) => createScreenUi({ context, history, detail, now }, handlers);
}

const now = (): Millis => millis(Date.now());

/** Tells scripts that use a pipe whether they were answered. */
const chatExitCode = ({ lastTurn }: Extract<ChatOutcome, { kind: "left" }>): Outcome =>
  lastTurn === undefined || lastTurn.reason === "aborted" ? exitCode.fine : turnExitCode(lastTurn);

/** Says how to come back, and what the session has cost. Nothing if there was no message. */
async function sayFarewell(
  { out }: CommandContext,
  { end, answerer }: { readonly end: Extract<ChatOutcome, { kind: "left" }>; readonly answerer: Answerer },
): Promise<void> {
  const { session, context } = end.agent;
  const { requests, totalNanos, unpriced } = context.conversation.costs.session;
  if (requests === 0 && session.fold.messages.length === 0) return;
  const isUnknown = unpriced > 0 && totalNanos === 0;
  const more = unpriced > 0 ? ", and more: not every model has a known price" : "";
  await out.write(`This session: ${isUnknown ? "price not known" : `${formatCost(answerer, totalNanos)}${more}`}\n`);
  await out.write(`Go on with it: ${out.style("bold", `palimpsest --resume ${session.id}`)}\n`);
}
