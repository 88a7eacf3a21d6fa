import type { SessionId } from "palimpsest/internal/schema/brand";
import type { AskAboutEdit } from "../agent/approve-dear-edits.ts";
import { approvalRounds } from "palimpsest/internal/context/limits";
import { isAnnounced } from "palimpsest/internal/context/request/edit-approvals";
import { formatPlannedEdit } from "../tui/text/event-lines.ts";
import type { ChatHandlers, ChatUi, ChoicePrompt } from "../tui/chat-ui.ts";
import type { AskedImport } from "palimpsest/internal/memory/load-instruction-file";
import type { ImportDecision } from "../tui/dialog/import-dialog.ts";
import type { TrustRequest } from "../agent/pending-trust.ts";
import type { ApprovalPrompt, ServerDecision, TrustDecision } from "../tui/dialog/trust-dialog.ts";
import type { UserNotice } from "../agent/agent.ts";
import type { PermissionPrompt } from "palimpsest/internal/ports/user-port";
import type { ChatAction } from "../tui/state/update-chat.ts";

/** Shows a chat, from its first line to its last. */
export interface TerminalUi extends ChatUi {
  start(): void;
  /** Restores the terminal. Must not reject. */
  stop(): Promise<void>;
  /** Lines of a statusline command, styled and printable; an empty list removes them. */
  setStatusline?(lines: readonly string[]): void;
  /** The unsent text in the editor; absent if the UI can't know it. */
  readonly typed?: string;
  /** Which of the project's servers may be used, in their order. Absent if there is no user to ask. */
  approve?(ask: ApprovalPrompt, signal: AbortSignal): Promise<readonly ServerDecision[]>;
  /** Whether the project's own settings count. Absent if there is no user to ask. */
  trust?(ask: TrustRequest, signal: AbortSignal): Promise<TrustDecision>;
  /** Which files outside of the project its instructions may include, in their order. Absent likewise. */
  imports?(ask: readonly AskedImport[], signal: AbortSignal): Promise<readonly ImportDecision[]>;
}

export interface TerminalUiHandlers extends ChatHandlers {
  /** Resolves when nothing runs, at once if nothing does. */
  rest(): Promise<void>;
  /** The open session. */
  readonly session: SessionId;
}

/** What the agent asks the user. */
export interface UserPrompts extends Pick<ChatUi, "permission" | "question" | "review"> {
  readonly approveEdit: AskAboutEdit;
}

interface PromptObservers {
  /** Notifies that the agent waits for the user. Not awaited. */
  readonly notify: (notice: UserNotice) => void;
  /** The loop reports permission prompts by itself; only the UI knows of a tool's question. */
  readonly act: (act: Extract<ChatAction, { kind: "prompted" | "answered" | "tell" }>) => void;
  /** Ends the turn. */
  readonly interrupt: () => void;
}

type PromptUi = Pick<ChatUi, "permission" | "question" | "review" | "choose">;

/** Wraps the user's prompts so that each is reported. */
export function observePrompts(ui: PromptUi, { notify, act, interrupt }: PromptObservers): UserPrompts {
  const reportAsking = async <Answer>(tool: string, answer: () => Promise<Answer>): Promise<Answer> => {
    act({ kind: "prompted", tool });
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
      return reportAsking("ask_user", () => ui.question(ask, signal));
    },
    review: (ask, signal) => {
      notify({ type: "plan_review", message: "palimpsest has a plan for you to look at" });
      return reportAsking("plan", () => ui.review(ask, signal));
    },
    approveEdit: async (edit, signal) => {
      notify({ type: "question", message: "palimpsest has a question for you" });
      // The loop has announced a dear edit; the user may have set a lower price.
      if (!isAnnounced(edit)) act({ kind: "tell", tone: "plain", text: formatPlannedEdit(edit) });
      const answer = await ui.choose(editPrompt, signal);
      if (answer === "yes" || answer === "always") return answer;
      if (!signal.aborted) act({ kind: "tell", tone: "plain", text: editDeclinedText });
      return "not-now";
    },
  };
}

/** The line above it says what is planned, and what it costs. */
const editPrompt: ChoicePrompt = {
  title: "Do it now?",
  choices: [
    { value: "yes", label: "yes" },
    { value: "not-now", label: "not now" },
    { value: "always", label: "yes, and don't ask again in this session" },
  ],
  search: "none",
  at: "not-now",
  openedBy: "agent",
};

const editDeclinedText = `The view stays as it is. This is not proposed again for ${approvalRounds} requests, unless room is needed.`;

/** Names a server's tool with its server: the name of the tool that calls it says nothing. */
function toolLabel({ tool, acts }: PermissionPrompt): string {
  const act = acts.find(({ kind }) => kind === "mcp");
  return act?.kind === "mcp" ? `${act.tool} of the MCP server ${act.server}` : tool;
}

export const idleNotice: UserNotice = { type: "idle_prompt", message: "palimpsest is waiting for your input" };
