import type { AgentOptions } from "../agent/agent-options.ts";
import type { Agent, OpenAgentOutcome } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import { pendingTrust } from "../agent/pending-trust.ts";
import { listAgentSessions } from "../host/session-owner.ts";
import { openWorkspace, type Workspace } from "../host/workspace.ts";
import type { ProjectStore } from "../host/project-store.ts";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { Entry } from "palimpsest/internal/schema/entry";
import type { Millis, SessionId } from "palimpsest/internal/schema/brand";
import { pendingApprovals } from "../settings/defined-servers.ts";
import { hookEnvironment } from "../tool/hooks/hook-process.ts";
import { serverConnector } from "../tool/mcp/server-connector.ts";
import { findShell } from "../tool/shell/bash-tool.ts";
import { openNet } from "../tool/web/get-page.ts";
import type { Choice } from "../tui/chat-ui.ts";
import { type InputHistory, openHistory } from "../tui/input/input-history.ts";
import type { ChatItem } from "../tui/state/chat-item.ts";
import { type ItemDetail, loadItemDetail } from "../tui/state/item-detail.ts";
import type { CommandContext } from "../program/command.ts";
import { findMachineSandbox } from "../session/find-machine-sandbox.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { pendingImports } from "../agent/instructions/pending-imports.ts";
import type { ImportAnswer } from "palimpsest/internal/memory/load-instruction-file";
import type { Approvals, ImportQuestions, TrustQuestions } from "./ask-for-approvals.ts";
import { type ChatStatusline, createChatStatusline } from "../statusline/chat-statusline.ts";
import type { OpenAgentRequest } from "./current-agent.ts";
import type { UserPrompts } from "./terminal-ui.ts";
import { sessionChoices } from "./commands/message-choices.ts";
import { unsentInputPath, type AbandonedInput, findAbandonedInput, sessionlessPath } from "./unsent-input.ts";
import { scanForward } from "palimpsest/internal/session/scan-lines";
import type { TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import { Path } from "palimpsest/internal/transcript/path";
import { pastBytesMax } from "./limits.ts";
import { readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { replaceFile } from "palimpsest/internal/store/files/disk";

/**
 * The agent and everything of the project behind a chat. It takes longer to load than a prompt takes to draw, so it is
 * loaded second.
 */
export interface ChatHost {
  readonly open: (opening: OpenAgentRequest, user: UserPrompts) => Promise<OpenAgentOutcome>;
  readonly past: (agent: Agent) => Promise<readonly Entry[]>;
  /** For a session, or for input that has no session yet. Undefined if nothing is stored. */
  readonly keptPath: (of: SessionId | "passing") => string | undefined;
  readonly leftInput: (current: SessionId) => Promise<AbandonedInput | undefined>;
  /** Sessions that can be resumed. */
  readonly sessions: () => Promise<readonly Choice[]>;
  readonly trust: TrustQuestions;
  readonly imports: ImportQuestions;
  readonly approvals: Approvals;
  /** A notice that is shown once per machine. Must not reject. */
  readonly notice: (agent: Agent) => Promise<string | undefined>;
  readonly history: InputHistory;
  readonly detail: (session: SessionId, item: ChatItem) => Promise<ItemDetail>;
  /**
   * Created from the settings that count here: a project's command counts only if the user trusts the project.
   * Undefined if the settings name no command.
   */
  readonly statusline: (show: (lines: readonly string[]) => void) => Promise<ChatStatusline | undefined>;
}

export interface ChatHostInput extends Pick<AgentOptions, "model" | "flags" | "tools" | "team" | "socket"> {
  readonly context: CommandContext;
  /** Whether there is a user who can be asked. */
  readonly inputFrom: "terminal" | "pipe";
  readonly now: () => Millis;
}

export async function openChatHost(input: ChatHostInput): Promise<ChatHost | WriteFailure> {
  const { context, model, tools, team, socket, inputFrom } = input;
  const { env, cwd } = context;
  const workspace = openWorkspace(context);
  const project = await workspace.project();
  if (project.kind === "failed") return project;
  const { deps, root, folder } = project;
  const version = readOwnVersion();
  // Awaited only when an agent is opened: the check takes as long as starting a program.
  const sandbox = findMachineSandbox(context);
  const importAnswers = new Map<string, ImportAnswer>();
  return {
    open: async (opening, questions) =>
      openAgent({
        ...opening,
        env,
        cwd,
        version,
        model,
        tools,
        team,
        socket,
        user: inputFrom === "terminal" ? questions : undefined,
        approveEdit: inputFrom === "terminal" ? questions.approveEdit : undefined,
        planReview: inputFrom === "terminal" ? questions : undefined,
        net: openNet,
        sandbox: await sandbox,
        jobs: opening.jobs ?? "on",
        connectServer: serverConnector({ version }),
        askSizes: "on",
        countFixedPart: "on",
        retention: "on",
        turns: "many",
        importAnswers,
      }),
    past: (agent) => readPastEntries(deps, agent),
    keptPath: (of) => inputPath({ deps, folder, inputFrom }, of),
    leftInput: (current) => findAbandonedInput({ ...deps, folder, current }),
    sessions: async () => sessionChoices({ sessions: await listAgentSessions(workspace), nowMillis: Date.now() }),
    trust: {
      pending: () => pendingTrust({ workspace }),
      decide: (as) => workspace.decideTrust(as),
    },
    imports: {
      pending: async () => pendingImports({ workspace, env, cwd: await realpath(cwd), root, importAnswers }),
      answer: (realPath, answer) => void importAnswers.set(realPath, answer),
      decide: (as, realPaths) => workspace.decideImports(as, realPaths),
    },
    approvals: {
      pending: async () => pendingApprovals(await workspace.servers()),
      approve: (approvals) => workspace.approveServers(approvals),
      refuse: (approvals) => workspace.refuseServers(approvals),
    },
    notice: (agent) =>
      inputFrom === "terminal" ? sandboxNotice(agent.sandbox(), workspace.home) : Promise.resolve(undefined),
    history: await openHistory({ folder, secrets: secretsIn(env) }),
    detail: (session, item) => loadItemDetail(deps, { session, item }),
    statusline: (show) => openStatusline(input, { workspace, deps, root, show }),
  };
}

interface InputPathDeps extends Pick<ChatHostInput, "inputFrom"> {
  readonly deps: ProjectStore;
  /** The folder of the project's sessions. */
  readonly folder: string;
}

/**
 * Input from a pipe can be sent again; stored next to a session that was never opened, it would only be left behind.
 */
function inputPath({ deps, folder, inputFrom }: InputPathDeps, of: SessionId | "passing"): string | undefined {
  if (of !== "passing") return unsentInputPath(folder, of);
  return inputFrom === "pipe" ? undefined : sessionlessPath(folder, deps.uuid());
}

const secretNames = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];
const secretsIn = (env: CommandContext["env"]): readonly string[] => secretNames.flatMap((name) => env[name] ?? []);

async function openStatusline(
  { context, flags, now }: ChatHostInput,
  {
    workspace,
    deps,
    root,
    show,
  }: {
    readonly workspace: Workspace;
    readonly deps: ProjectStore;
    readonly root: string;
    readonly show: (lines: readonly string[]) => void;
  },
): Promise<ChatStatusline | undefined> {
  const { reading } = await workspace.settings({ flags });
  const { value: command } = reading.settings.statusLine;
  if (command === undefined) return undefined;
  const { cwd } = context;
  const env = hookEnvironment({ env: context.env, projectRoot: root });
  return createChatStatusline({
    command: { command, shell: (await findShell()).path, cwd, env },
    show,
    version: readOwnVersion(),
    cwd,
    projectRoot: root,
    transcriptPath: ({ session }: Agent) => deps.transcripts.linkTo?.(session.id) ?? "",
    now,
  });
}

/**
 * What was said in a session, oldest first. A session is opened from its last boundary on, but the user wants to see
 * what precedes it too, so the log is read once more unless it is too large.
 */
export async function readPastEntries({ transcripts }: TranscriptsDep, { session }: Agent): Promise<readonly Entry[]> {
  const known = session.fold.path.entries;
  if (session.read.from === "beginning" || session.read.of > pastBytesMax) return known;
  const source = await transcripts.openForReading(session.id);
  if (source === undefined) return known;
  try {
    const path = new Path();
    for await (const { logged } of scanForward(source)) for (const entry of logged) path.append(entry);
    return path.entries;
  } finally {
    await source.close();
  }
}

/**
 * Says that this machine has no sandbox for commands, in the first chat here; later chats say so only in the status
 * line, until the reason changes. Must not reject: a notice that can't be remembered is shown again.
 */
export async function sandboxNotice(use: SandboxUse, home: string): Promise<string | undefined> {
  if (use.kind !== "unheld" || use.because !== "absent") return undefined;
  const path = join(home, "notices.json");
  const noticesShown = noticesShape.safeParse(tryParseJson(await readFile(path, "utf8").catch(() => ""))).data ?? {};
  if (noticesShown.noSandbox === use.why) return undefined;
  const data = Buffer.from(`${JSON.stringify({ ...noticesShown, noSandbox: use.why }, undefined, 2)}\n`);
  await replaceFile({ path, data, sync: "unsynced" }).catch(() => undefined);
  return `There is no sandbox on this machine (${use.why}): what you allow runs with all your rights, and more is asked about.\nTo have one, ${use.remedy}. \`palimpsest doctor\` says this again.`;
}

const noticesShape = z.looseObject({ noSandbox: z.string().optional() });
