import type { AgentOptions } from "../agent/agent-options.ts";
import type { Agent, OpenAgentOutcome } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import { pendingTrust } from "../agent/pending-trust.ts";
import { openWorkspace, type Workspace, type ProjectStore } from "../host/workspace.ts";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { Entry } from "palimpsest/internal/schema/entry";
import type { Millis, SessionId } from "palimpsest/internal/schema/brand";
import { pendingApprovals } from "../settings/defined-servers.ts";
import { hookEnvironment } from "../tool/hooks/hook-process.ts";
import { serverConnector } from "../tool/mcp/server-connector.ts";
import { findShell } from "../tool/shell/bash-tool.ts";
import { openNet } from "../tool/web/get-page.ts";
import type { Choice, ChatUi } from "../tui/chat-ui.ts";
import { type InputHistory, openHistory } from "../tui/input/input-history.ts";
import type { ChatItem } from "../tui/state/chat-item.ts";
import { type ItemDetail, loadItemDetail } from "../tui/state/item-detail.ts";
import type { CommandContext } from "../program/command.ts";
import { findMachineSandbox } from "../session/find-machine-sandbox.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import type { Approvals, TrustQuestions } from "./ask-for-approvals.ts";
import { type ChatStatusline, createChatStatusline } from "../statusline/chat-statusline.ts";
import type { OpenAgentRequest } from "./current-agent.ts";
import { sessionChoices } from "./commands/message-choices.ts";
import { unsentInputPath, type AbandonedInput, findAbandonedInput, sessionlessPath } from "./unsent-input.ts";
import { scanForward } from "palimpsest/internal/session/scan-lines";
import type { TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import { Path } from "palimpsest/internal/transcript/path";
import { pastBytesMax } from "./limits.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { replaceFile } from "palimpsest/internal/store/files/disk";

/**
 * What stands behind a chat: the agent and everything of the project. It takes longer to load than a prompt to draw, so it
 * comes second.
 */
export interface ChatHost {
  readonly open: (opening: OpenAgentRequest, person: UserQuestions) => Promise<OpenAgentOutcome>;
  readonly past: (agent: Agent) => Promise<readonly Entry[]>;
  /** Of a session, or of no session yet. Undefined where nothing is kept. */
  readonly keptPath: (of: SessionId | "passing") => string | undefined;
  readonly leftInput: (current: SessionId) => Promise<AbandonedInput | undefined>;
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

type UserQuestions = Pick<ChatUi, "permission" | "question" | "review">;

export interface ChatHostInput extends Pick<AgentOptions, "model" | "flags" | "tools"> {
  readonly context: CommandContext;
  /** Whether somebody is there who can be asked. */
  readonly person: "there" | "pipe";
  readonly now: () => Millis;
}

export async function openChatHost(input: ChatHostInput): Promise<ChatHost | WriteFailure> {
  const { context, model, tools, person } = input;
  const { env, cwd } = context;
  const engine = openWorkspace(context);
  const project = await engine.project();
  if (project.kind === "failed") return project;
  const { deps, root, folder } = project;
  const version = readOwnVersion();
  // Not waited for until an agent is opened: trying it takes as long as starting a program does.
  const sandbox = findMachineSandbox(context);
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
    past: (agent) => readPastEntries(deps, agent),
    keptPath: (of) => inputPath({ deps, folder, person }, of),
    leftInput: (current) => findAbandonedInput({ ...deps, folder, current }),
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
    detail: (session, item) => loadItemDetail(deps, { session, item }),
    statusline: (show) => openStatusline(input, { engine, deps, root, show }),
  };
}

interface InputPathDeps extends Pick<ChatHostInput, "person"> {
  readonly deps: ProjectStore;
  /** Where the project's sessions are. */
  readonly folder: string;
}

/** What comes through a pipe can be sent again: beside a session that was never opened it would only be left behind. */
function inputPath({ deps, folder, person }: InputPathDeps, of: SessionId | "passing"): string | undefined {
  if (of !== "passing") return unsentInputPath(folder, of);
  return person === "pipe" ? undefined : sessionlessPath(folder, deps.uuid());
}

const secretNames = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];
const secretsIn = (env: CommandContext["env"]): readonly string[] => secretNames.flatMap((name) => env[name] ?? []);

async function openStatusline(
  { context, flags, now }: ChatHostInput,
  {
    engine,
    deps,
    root,
    show,
  }: {
    readonly engine: Workspace;
    readonly deps: ProjectStore;
    readonly root: string;
    readonly show: (lines: readonly string[]) => void;
  },
): Promise<ChatStatusline | undefined> {
  const { reading } = await engine.settings({ flags });
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
 * What was said in a session, oldest first. A session is opened from its last boundary on; a person wants to see what stands
 * before it too, so the log is read once more where it is not too large for that.
 */
export async function readPastEntries({ transcripts }: TranscriptsDep, { session }: Agent): Promise<readonly Entry[]> {
  const known = session.fold.path.entries;
  if (session.read.from === "beginning" || session.read.of > pastBytesMax) return known;
  const source = await transcripts.openForReading(session.id);
  if (source === undefined) return known;
  try {
    const path = new Path();
    for await (const { logged } of scanForward(source)) for (const one of logged) path.append(one);
    return path.entries;
  } finally {
    await source.close();
  }
}

/**
 * That nothing holds commands on this machine, for the first chat here; later ones say it only in the status line, until
 * the reason is another. Must not reject: a notice that can't be remembered is given again.
 */
export async function sandboxNotice(use: SandboxUse, home: string): Promise<string | undefined> {
  if (use.kind !== "unheld" || use.because !== "absent") return undefined;
  const path = join(home, "notices.json");
  const given = givenShape.safeParse(tryParseJson(await readFile(path, "utf8").catch(() => ""))).data ?? {};
  if (given.noSandbox === use.why) return undefined;
  const data = Buffer.from(`${JSON.stringify({ ...given, noSandbox: use.why }, undefined, 2)}\n`);
  await replaceFile({ path, data, sync: "unsynced" }).catch(() => undefined);
  return `There is no sandbox on this machine (${use.why}): what you allow runs with all your rights, and more is asked about.\nTo have one, ${use.remedy}. \`palimpsest doctor\` says this again.`;
}

const givenShape = z.looseObject({ noSandbox: z.string().optional() });
