import type { SessionChoice } from "../agent/agent-options.ts";
import type { Agent } from "../agent/agent.ts";
import type { Entry } from "palimpsest/internal/schema/entry";
import { type SessionId, sessionId } from "palimpsest/internal/schema/brand";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import { formatProblem } from "palimpsest/internal/settings/problem";
import type { Choice } from "../tui/chat-ui.ts";
import { restoreChat } from "../tui/state/restore-chat.ts";
import { readTeam, teamWelcomeText } from "../team/read-team.ts";
import { agentFailure } from "../session/session-failure.ts";
import {
  type Approvals,
  askForApprovals,
  serverRefusalText,
  askImports,
  askTrust,
  type ImportQuestions,
  type TrustQuestions,
} from "./ask-for-approvals.ts";
import type { ChatView } from "./chat-view.ts";
import type { CurrentAgent, AgentNotOpened, OpenAgentRequest, ReopenRequest } from "./current-agent.ts";
import type { TerminalUi } from "./terminal-ui.ts";
import { readUnsentInput, dropLogged, type AbandonedInput } from "./unsent-input.ts";
import type { PendingInput } from "./pending-input.ts";

export interface ChatSessionsDeps {
  /** Entries of a session's path, oldest first, as far back as they are to be shown. */
  readonly past: (agent: Agent) => Promise<readonly Entry[]>;
  /** Where typed input is stored: next to a session, or elsewhere if there is none yet. Undefined: nowhere. */
  readonly keptPath: (of: SessionId | "passing") => Promise<string | undefined>;
  /** Input that belongs to no session, for the first one that is opened. Absent if it is to be left alone. */
  readonly leftInput?: ((current: SessionId) => Promise<AbandonedInput | undefined>) | undefined;
  /** For a user who has yet to choose one. */
  readonly sessions: () => Promise<readonly Choice[]>;
  /** Whether the project's settings count. Absent if the user is not asked. */
  readonly trust?: TrustQuestions;
  /** Files outside of the project that its instructions include. Absent if the user is not asked about them. */
  readonly imports?: ImportQuestions;
  /** Servers of the project that are not approved yet. Absent if the user is not asked about them. */
  readonly approvals?: Approvals;
  /** A notice that is shown once per machine, after the first welcome. Absent if there is none. */
  readonly notice?: (agent: Agent) => Promise<string | undefined>;
}

interface ChatSessionsParts extends ChatSessionsDeps {
  readonly ui: TerminalUi;
  readonly view: ChatView;
  readonly current: CurrentAgent;
  readonly waiting: PendingInput;
  readonly isLeaving: () => boolean;
  /** Called when an agent has been opened, a new one or the same one again. */
  readonly opened: () => void;
}

export interface FirstSessionRequest extends Pick<OpenAgentRequest, "flags"> {
  readonly session: SessionChoice | { readonly kind: "choose" };
}

export type BeginOutcome =
  | { readonly kind: "begun" }
  /** The user left meanwhile. */
  | { readonly kind: "left" }
  /** The previous agent could not be opened again. */
  | { readonly kind: "lost" }
  | { readonly kind: "not-opened"; readonly opened: AgentNotOpened };

/** Opens a chat's sessions one after the other and welcomes the user in each. Typed input moves along. */
export class ChatSessions {
  readonly #parts: ChatSessionsParts;

  constructor(parts: ChatSessionsParts) {
    this.#parts = parts;
  }

  async begin({ session, flags }: FirstSessionRequest, signal: AbortSignal): Promise<BeginOutcome> {
    const { waiting, current, keptPath, isLeaving } = this.#parts;
    await waiting.keepAt(await keptPath("passing"));
    const choice = session.kind === "choose" ? await this.#chooseSession(signal) : session;
    if (isLeaving()) return { kind: "left" };
    const notices = await this.#askAboutProject(signal);
    if (isLeaving()) return { kind: "left" };
    const opened = await current.open({ session: choice, flags, signal });
    if (opened.kind !== "agent") return { kind: "not-opened", opened };
    if (isLeaving()) return { kind: "left" };
    await this.#welcome();
    for (const text of notices) this.#parts.view.act({ kind: "tell", tone: "warning", text });
    await this.#giveNotice();
    await this.#restoreAbandoned();
    return (await this.#approve(signal)) === "lost" ? { kind: "lost" } : { kind: "begun" };
  }

  /** `lost`: there is no agent any more. */
  async reopen(reopening: ReopenRequest): Promise<"open" | "lost"> {
    const { waiting, current, keptPath } = this.#parts;
    // Nothing of it stays with the session that is left: it would be given back there once more.
    await waiting.keepAt(await keptPath("passing"));
    const reopened = await current.reopen(reopening);
    if (reopened.kind === "kept" || reopened.kind === "lost") this.#tellNotOpened(reopened.instead);
    if (reopened.kind === "lost") return "lost";
    if (reopened.kind === "other") {
      if (reopened.jobsEnded > 0) this.#tellJobsEnded(reopened.jobsEnded);
      await this.#welcome();
    } else await this.#finishOpening();
    return "open";
  }

  /** If the user chooses none, the sent messages go back to the editor: they were meant for one of the sessions. */
  async #chooseSession(signal: AbortSignal): Promise<SessionChoice> {
    const { sessions, ui, view, waiting, isLeaving } = this.#parts;
    const choices = await sessions();
    if (choices.length === 0) {
      view.act({ kind: "tell", tone: "plain", text: "This project has no session yet: a new one begins." });
      return { kind: "new" };
    }
    const prompt = { title: "Which session?", choices, search: "typed", verb: "go on with it" } as const;
    const chosen = await ui.choose(prompt, signal);
    if (chosen !== undefined && !signal.aborted) return { kind: "resume", id: sessionId(chosen) };
    if (!isLeaving()) waiting.giveBack();
    return { kind: "new" };
  }

  /**
   * Asked first: the project's settings and instructions decide what is opened. A project that the user does not trust
   * now can't ask for files outside of it.
   */
  async #askAboutProject(signal: AbortSignal): Promise<readonly string[]> {
    const { trust, imports, ui } = this.#parts;
    const trusted = trust === undefined ? undefined : await askTrust(trust, { ui, signal });
    const notices = trusted?.notices ?? [];
    const mayAsk = !signal.aborted && trusted?.decision !== "later" && trusted?.decision !== "never";
    return imports !== undefined && mayAsk ? [...notices, ...(await askImports(imports, { ui, signal }))] : notices;
  }

  /** The session is opened again with the approved servers. */
  async #approve(signal: AbortSignal): Promise<"open" | "lost"> {
    const { approvals, ui, view, current } = this.#parts;
    if (approvals === undefined) return "open";
    const approved = await askForApprovals(approvals, { ui, signal });
    for (const text of approved.failures) view.act({ kind: "tell", tone: "error", text });
    for (const server of approved.refused) view.act({ kind: "tell", tone: "plain", text: serverRefusalText(server) });
    const { id } = current.agent.session;
    if (approved.servers.length === 0) return "open";
    const reopened = await this.reopen({ asked: { kind: "open", session: { kind: "resume", id } }, signal });
    if (reopened === "open") void this.#tellStarted(approved.servers);
    return reopened;
  }

  /** Not awaited: a server may take long to start. */
  async #tellStarted(approved: readonly string[]): Promise<void> {
    const { view, current, isLeaving } = this.#parts;
    const servers = (await current.agent.serversSettled()).filter(({ name }) => approved.includes(name));
    if (isLeaving()) return;
    for (const server of servers) {
      const text =
        server.kind === "ready"
          ? `${server.name}: started, ${formatCount(server.tools.length)} ${plural(server.tools.length, "tool")}`
          : `${server.name}: not started: ${server.why}`;
      view.act({ kind: "tell", tone: server.kind === "ready" ? "plain" : "warning", text });
    }
  }

  /** Shows what was said before, the warnings, and what the user had typed when they were last here. */
  async #welcome(): Promise<void> {
    const { current, past, keptPath, view, waiting } = this.#parts;
    const { agent } = current;
    const entries = await past(agent);
    view.change((state) => restoreChat(state, entries));
    for (const problem of agent.settingsProblems) {
      const tone = problem.severity === "error" ? "error" : "warning";
      view.act({ kind: "tell", tone, text: formatProblem(problem) });
    }
    for (const text of agent.warnings) view.act({ kind: "tell", tone: "warning", text });
    const membership = agent.mail?.membership;
    if (membership !== undefined)
      view.act({ kind: "tell", tone: "plain", text: teamWelcomeText(await readTeam(membership)) });
    const path = await keptPath(agent.session.id);
    // Read before anything is stored there: until then, new messages are stored elsewhere.
    if (path !== undefined) waiting.restore(dropLogged(await readUnsentInput(path), entries), returnedHereText);
    await this.#finishOpening();
  }

  async #giveNotice(): Promise<void> {
    const { notice, current, view } = this.#parts;
    const text = await notice?.(current.agent);
    if (text !== undefined) view.act({ kind: "tell", tone: "warning", text });
  }

  async #finishOpening(): Promise<void> {
    const { current, keptPath, waiting, opened } = this.#parts;
    await waiting.keepAt(await keptPath(current.agent.session.id));
    opened();
  }

  async #restoreAbandoned(): Promise<void> {
    const { leftInput, current, waiting } = this.#parts;
    const abandoned = await leftInput?.(current.agent.session.id);
    if (abandoned === undefined) return;
    waiting.restore(abandoned, returnedElsewhereText);
    await waiting.settled();
    await abandoned.forget();
  }

  #tellJobsEnded(count: number): void {
    const text = `Ended with the session that was left: ${count} ${count === 1 ? "job" : "jobs"} in the background.`;
    this.#parts.view.act({ kind: "tell", tone: "plain", text });
  }

  #tellNotOpened(opened: AgentNotOpened): void {
    const { message, hint } = agentFailure(opened, "Close it there, or start with --fork.");
    const text = `Not opened: ${message}.${hint === undefined ? "" : ` ${hint}`}`;
    this.#parts.view.act({ kind: "tell", tone: "error", text });
  }
}

const returnedHereText = "What you had typed when this session was last left is back where you type. It was not sent.";
const returnedElsewhereText =
  "What you had typed in a session in which nothing was said is back where you type. It was not sent.";
