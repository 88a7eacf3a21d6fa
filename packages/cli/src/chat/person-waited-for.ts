import type { PersonWanted } from "../agent/agent.ts";
import type { PermissionAsk } from "palimpsest/internal/ports/person";
import type { ChatUi } from "../tui/chat-ui.ts";
import type { ChatAct } from "../tui/state/chat-state.ts";

type Asks = Pick<ChatUi, "permission" | "question" | "review">;

export interface WaitedFor {
  /** Whoever wants to know that the person is waited for. Not waited for itself. */
  readonly notify: (notice: PersonWanted) => void;
  /** Of permissions the loop tells by itself; that a tool asks is known only here. */
  readonly act: (act: Extract<ChatAct, { kind: "asks" | "answered" }>) => void;
  /** Ends the turn. */
  readonly interrupt: () => void;
}

/** The person, and whoever is told that they are asked. */
export function whoIsWaitedFor(ui: Asks, { notify, act, interrupt }: WaitedFor): Asks {
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
      notify({ type: "permission_prompt", message: `palimpsest needs your permission to use ${usedIn(ask)}` });
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
function usedIn({ tool, acts }: PermissionAsk): string {
  const act = acts.find(({ kind }) => kind === "mcp");
  return act?.kind === "mcp" ? `${act.tool} of the MCP server ${act.server}` : tool;
}

export const idleNotice: PersonWanted = { type: "idle_prompt", message: "palimpsest is waiting for your input" };
