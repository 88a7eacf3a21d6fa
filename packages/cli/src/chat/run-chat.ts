import type { AgentOptions, SessionChoice } from "../agent/agent-options.ts";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { agentNotOpened } from "../agent-not-opened.ts";
import type { CommandContext, Outcome } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { turnExitCode } from "../turn-exit-code.ts";
import { Chat, type ChatDeps, type ChatEnd } from "./chat.ts";
import type { ChatBack } from "./chat-back.ts";
import { sayFarewell } from "./farewell.ts";
import type { ChatFront, FrontHandlers } from "./front.ts";
import { offerDemo } from "./no-key.ts";
import { whileSignalled } from "./signals.ts";
import { type OnDemandStatusline, statuslineOnDemand } from "./statusline-on-demand.ts";

export interface AskedChat extends Pick<AgentOptions, "model" | "flags" | "tools"> {
  readonly session: SessionChoice | { readonly kind: "choose" };
  readonly message: string | undefined;
  /** Whether what was typed in no session that can be gone on with is given back in this one. */
  readonly leftInput: "taken-up" | "left-alone";
  /** `any`: what the terminal can. */
  readonly front: "plain" | "any";
}

/** A chat from its first line to its last. The prompt is there first; the agent is loaded behind it. */
export async function runChat(context: CommandContext, asked: AskedChat): Promise<Outcome> {
  const { session, flags, message, model } = asked;
  const person = isTerminal(context) ? "there" : "pipe";
  const back = backOnDemand(async () => {
    const { openBack } = await import("./chat-back.ts");
    return openBack({ ...asked, context, person, now });
  });
  const statusline = statuslineOnDemand(async (show) => (await opened(back)).statusline(show));
  const front = await frontOf({ context, asked, back, person });
  const chat = new Chat(
    chatDeps({ context, asked, back, statusline, front: (handlers) => statusline.behind(front(handlers)) }),
  );
  const end = await whileSignalled(
    () => chat.quit(),
    () => chat.run({ session, flags }, message),
  ).finally(() => statusline.close());
  if (end.kind === "not-opened") {
    const told = agentNotOpened(end.opened, "Add --fork to go on in a session of its own.");
    return end.opened.kind === "no-key" ? await offerDemo(context, told) : told;
  }
  if (end.kind === "left-early") return exitCode.fine;
  await sayFarewell(context, { end, answerer: model.kind });
  return codeOf(end);
}

type Back = () => Promise<ChatBack | WriteFailure>;

/** Loaded once, by whoever asks first. */
function backOnDemand(load: Back): Back {
  let loading: ReturnType<Back> | undefined;
  return () => (loading ??= load());
}

interface Wiring {
  readonly context: CommandContext;
  readonly asked: AskedChat;
  readonly back: Back;
  readonly statusline: OnDemandStatusline;
  readonly front: (handlers: FrontHandlers) => ChatFront;
}

function chatDeps({ context, asked, back, statusline, front }: Wiring): ChatDeps {
  return {
    context,
    answerer: asked.model.kind,
    now,
    front,
    open: async (opening, person) => {
      const loaded = await back();
      return isFailed(loaded) ? loaded : loaded.open(opening, person);
    },
    runSlash: async (command, chat) => (await import("./commands/run.ts")).runSlash(command, chat),
    complete: async (asking) => (await import("./commands/completions.ts")).completions(context, asking),
    past: async (agent) => (await opened(back)).past(agent),
    keptPath: async (of) => {
      const loaded = await back();
      return isFailed(loaded) ? undefined : loaded.keptPath(of);
    },
    leftInput:
      asked.leftInput === "left-alone" ? undefined : async (current) => (await opened(back)).leftInput(current),
    sessions: async () => {
      const loaded = await back();
      return isFailed(loaded) ? [] : await loaded.sessions();
    },
    notice: async (agent) => (await opened(back)).notice(agent),
    trust: {
      pending: async () => {
        const loaded = await back();
        return isFailed(loaded) ? undefined : loaded.trust.pending();
      },
      decide: async (as) => (await opened(back)).trust.decide(as),
    },
    approvals: {
      pending: async () => (await opened(back)).approvals.pending(),
      approve: async (approvals) => (await opened(back)).approvals.approve(approvals),
      refuse: async (approvals) => (await opened(back)).approvals.refuse(approvals),
    },
    changed: statusline.changed,
  };
}

const isFailed = (loaded: ChatBack | WriteFailure): loaded is WriteFailure => "kind" in loaded;

/** For whoever comes behind an agent that was opened by it. */
async function opened(back: Back): Promise<ChatBack> {
  const loaded = await back();
  if (isFailed(loaded)) throw new Error(loaded.message);
  return loaded;
}

const isTerminal = ({ stdin, out }: CommandContext): boolean =>
  "isTTY" in stdin && stdin.isTTY === true && out.isTerminal;

interface Fronting extends Pick<Wiring, "context" | "asked" | "back"> {
  readonly person: "there" | "pipe";
}

async function frontOf({ context, asked, back, person }: Fronting): Promise<Wiring["front"]> {
  if (asked.front === "plain" || person === "pipe" || context.env["TERM"] === "dumb") {
    const { plainFront } = await import("./plain/plain-front.ts");
    return (handlers) => plainFront({ context, handlers, now, person });
  }
  const { screenFront } = await import("./screen-front.ts");
  const history = async () => {
    const loaded = await back();
    return isFailed(loaded) ? undefined : loaded.history;
  };
  const detail: ChatBack["detail"] = async (session, item) => (await opened(back)).detail(session, item);
  return (handlers) => screenFront({ context, history, detail, now }, handlers);
}

const now = (): Millis => millis(Date.now());

/** Scripts that speak through a pipe learn from it whether they were answered. */
const codeOf = ({ lastTurn }: Extract<ChatEnd, { kind: "left" }>): Outcome =>
  lastTurn === undefined || lastTurn.reason === "aborted" ? exitCode.fine : turnExitCode(lastTurn);
