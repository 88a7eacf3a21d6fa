import type { AgentOptions } from "../agent/agent-options.ts";
import type { Agent, AgentOpened } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import { pendingTrust } from "../agent/pending-trust.ts";
import { createEngine, type Engine, type EngineDeps } from "../host/engine.ts";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { Entry } from "palimpsest/internal/schema/entry";
import type { Millis, SessionId } from "palimpsest/internal/schema/brand";
import { pendingApprovals } from "../settings/tool-servers.ts";
import { hookEnvironment } from "../tool/hooks/environment.ts";
import { serverConnector } from "../tool/mcp/connect.ts";
import { findShell } from "../tool/shell/find-shell.ts";
import { openNet } from "../tool/web/get.ts";
import type { Choice, ChatUi } from "../tui/chat-ui.ts";
import { type InputHistory, openHistory } from "../tui/input/history.ts";
import type { ChatItem } from "../tui/state/chat-item.ts";
import { type ItemDetail, itemDetail } from "../tui/state/item-detail.ts";
import type { CommandContext } from "../command.ts";
import { sandboxHere } from "../sandbox-here.ts";
import { ownVersion } from "../version.ts";
import type { Approvals } from "./approvals.ts";
import type { TrustQuestions } from "./ask-trust.ts";
import { type ChatStatusline, chatStatusline } from "./chat-statusline.ts";
import type { Opening } from "./current-agent.ts";
import { sessionChoices } from "./commands/session-choices.ts";
import { keptInputPath } from "./kept-input.ts";
import { type LeftInput, leftInput, passingPath } from "./left-input.ts";
import { pastOf } from "./past.ts";
import { sandboxNotice } from "./sandbox-notice.ts";

/**
 * What stands behind a chat: the agent and everything of the project. It takes longer to load than a prompt to draw, so it
 * comes second.
 */
export interface ChatBack {
  readonly open: (opening: Opening, person: Asked) => Promise<AgentOpened>;
  readonly past: (agent: Agent) => Promise<readonly Entry[]>;
  /** Of a session, or of no session yet. Undefined where nothing is kept. */
  readonly keptPath: (of: SessionId | "passing") => string | undefined;
  readonly leftInput: (current: SessionId) => Promise<LeftInput | undefined>;
  /** Those that can be gone on with. */
  readonly sessions: () => Promise<readonly Choice[]>;
  readonly trust: TrustQuestions;
  readonly approvals: Approvals;
  /** What is said once on a machine. Must not reject. */
  readonly notice: (agent: Agent) => Promise<string | undefined>;
  readonly history: InputHistory;
  readonly detail: (session: SessionId, item: ChatItem) => Promise<ItemDetail>;
  /** By the settings that count here: a project's command only where the person trusts the project. Undefined where they name none. */
  readonly statusline: (show: (lines: readonly string[]) => void) => Promise<ChatStatusline | undefined>;
}

type Asked = Pick<ChatUi, "permission" | "question" | "review">;

export interface BackInput extends Pick<AgentOptions, "model" | "flags" | "tools"> {
  readonly context: CommandContext;
  /** Whether somebody is there who can be asked. */
  readonly person: "there" | "pipe";
  readonly now: () => Millis;
}

export async function openBack(input: BackInput): Promise<ChatBack | WriteFailure> {
  const { context, model, tools, person } = input;
  const { env, cwd } = context;
  const engine = createEngine(context);
  const project = await engine.project();
  if (project.kind === "failed") return project;
  const { deps, root, folder } = project;
  const version = ownVersion();
  // Not waited for until an agent is opened: trying it takes as long as starting a program does.
  const sandbox = sandboxHere(context);
  return {
    open: async (opening, asked) =>
      openAgent({
        ...opening,
        env,
        cwd,
        version,
        model,
        tools,
        ...(person === "there" ? { person: asked, planReview: asked } : {}),
        net: openNet,
        sandbox: await sandbox,
        jobs: opening.jobs ?? "on",
        connectServer: serverConnector({ version }),
        askSizes: "on",
        countFixedPart: "on",
        turns: "many",
      }),
    past: (agent) => pastOf(deps, agent),
    keptPath: (of) => keptPath({ deps, folder, person }, of),
    leftInput: (current) => leftInput({ ...deps, folder, current }),
    sessions: async () => sessionChoices({ sessions: await engine.list("project"), nowMillis: Date.now() }),
    trust: {
      pending: () => pendingTrust({ engine, env, cwd, root }),
      decide: (as) => engine.decideTrust(as),
    },
    approvals: {
      pending: async () => pendingApprovals(await engine.servers()),
      approve: (approvals) => engine.approveServers(approvals),
      refuse: (approvals) => engine.refuseServers(approvals),
    },
    notice: (agent) => (person === "there" ? sandboxNotice(agent.sandbox(), engine.home) : Promise.resolve(undefined)),
    history: await openHistory({ folder, secrets: secretsIn(env) }),
    detail: (session, item) => itemDetail(deps, { session, item }),
    statusline: (show) => statuslineFor(input, { engine, deps, root, show }),
  };
}

interface Keeping extends Pick<BackInput, "person"> {
  readonly deps: EngineDeps;
  /** Where the project's sessions are. */
  readonly folder: string;
}

/** What comes through a pipe can be sent again: beside a session that was never opened it would only be left behind. */
function keptPath({ deps, folder, person }: Keeping, of: SessionId | "passing"): string | undefined {
  if (of !== "passing") return keptInputPath(folder, of);
  return person === "pipe" ? undefined : passingPath(folder, deps.uuid());
}

const secretNames = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];
const secretsIn = (env: CommandContext["env"]): readonly string[] => secretNames.flatMap((name) => env[name] ?? []);

interface StatuslineInput {
  readonly engine: Engine;
  readonly deps: EngineDeps;
  readonly root: string;
  readonly show: (lines: readonly string[]) => void;
}

async function statuslineFor(
  { context, flags, now }: BackInput,
  { engine, deps, root, show }: StatuslineInput,
): Promise<ChatStatusline | undefined> {
  const { reading } = await engine.settings({ flags });
  const { value: command } = reading.settings.statusLine;
  if (command === undefined) return undefined;
  const { cwd } = context;
  const env = hookEnvironment({ env: context.env, projectRoot: root });
  return chatStatusline({
    command: { command, shell: (await findShell()).path, cwd, env },
    show,
    version: ownVersion(),
    cwd,
    projectRoot: root,
    transcriptPath: ({ session }: Agent) => deps.transcripts.linkTo?.(session.id) ?? "",
    now,
  });
}
