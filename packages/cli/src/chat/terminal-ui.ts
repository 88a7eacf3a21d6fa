import type { SessionId } from "palimpsest/internal/schema/brand";
import type { ChatHandlers, ChatUi } from "../tui/chat-ui.ts";
import type { TrustRequest } from "../agent/pending-trust.ts";
import type { ApprovalPrompt, ServerDecision, TrustDecision } from "../tui/dialog/trust-dialog.ts";
import type { UserNotice } from "../agent/agent.ts";
import type { PermissionPrompt } from "palimpsest/internal/ports/user-port";
import type { ChatAction } from "../tui/state/update-chat.ts";

/** Who shows a chat, from its first line to its last. */
export interface TerminalUi extends ChatUi {
  start(): void;
  /** Leaves the terminal as it was found. Must not reject. */
  stop(): Promise<void>;
  /** Lines of a statusline command, styled and printable; none takes them away. */
  setStatusline?(lines: readonly string[]): void;
  /** What is typed and not sent; absent where nobody can tell. */
  readonly typed?: string;
  /** Which of the servers that a project defines may be used; in their order. Absent where nobody is there to be asked. */
  approve?(ask: ApprovalPrompt, signal: AbortSignal): Promise<readonly ServerDecision[]>;
  /** Whether the project's own settings count. Absent where nobody is there to be asked. */
  trust?(ask: TrustRequest, signal: AbortSignal): Promise<TrustDecision>;
}

export interface TerminalUiHandlers extends ChatHandlers {
  /** Resolves when nothing runs: at once, where nothing does. */
  rest(): Promise<void>;
  /** That is open now. */
  readonly session: SessionId;
}

type UserPrompts = Pick<ChatUi, "permission" | "question" | "review">;

interface PromptObservers {
  /** Whoever wants to know that the person is waited for. Not waited for itself. */
  readonly notify: (notice: UserNotice) => void;
  /** Of permissions the loop tells by itself; that a tool asks is known only here. */
  readonly act: (act: Extract<ChatAction, { kind: "asks" | "answered" }>) => void;
  /** Ends the turn. */
  readonly interrupt: () => void;
}

/** The person, and whoever is told that they are asked. */
export function observePrompts(ui: UserPrompts, { notify, act, interrupt }: PromptObservers): UserPrompts {
  const shownAsAsking = async <Answer>(tool: string, answer: () => Promise<Answer>): Promise<Answer> => {
    act({ kind: "asks", tool });
    try {
      return await answer();
    } finally {
      act({ kind: "answered", tool });
    }
  };
  return {
    permission: async (ask, signal) => {
      notify({ type: "permission_prompt", message: `palimpsest needs your permission to use ${toolLabel(ask)}` });
      const answer = await ui.permission(ask, signal);
      if (answer.kind === "interrupted") interrupt();
      return answer;
    },
    question: (ask, signal) => {
      notify({ type: "question", message: "palimpsest has a question for you" });
      return shownAsAsking("ask_user", () => ui.question(ask, signal));
    },
    review: (ask, signal) => {
      notify({ type: "plan_review", message: "palimpsest has a plan for you to look at" });
      return shownAsAsking("plan", () => ui.review(ask, signal));
    },
  };
}

/** A tool of a server by both names: the one that calls it tells nobody anything. */
function toolLabel({ tool, acts }: PermissionPrompt): string {
  const act = acts.find(({ kind }) => kind === "mcp");
  return act?.kind === "mcp" ? `${act.tool} of the MCP server ${act.server}` : tool;
}

export const idleNotice: UserNotice = { type: "idle_prompt", message: "palimpsest is waiting for your input" };
