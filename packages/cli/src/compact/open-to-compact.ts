import { stat } from "node:fs/promises";
import type { ModelChoice } from "../agent/model/model-choice.ts";
import type { Agent, OpenAgentOutcome } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import { openCounted } from "palimpsest/internal/session/counted-log";
import type { EntryId, SessionId } from "palimpsest/internal/schema/brand";
import type { CompactionRange } from "palimpsest/internal/schema/compaction-cause";
import { field, isObject, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import type { FlagInput } from "../settings/flag-values.ts";
import { findSessionOwner } from "../host/session-owner.ts";
import { openNet } from "../tool/web/get-page.ts";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { agentFailure, belongsToText } from "../session/session-failure.ts";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { findEntry } from "../session/find-pin.ts";
import { joinLines, type Answerer } from "../text/format.ts";
import { type NamedLog, openNamedLog, wrongFileFailure } from "../session/named-log.ts";
import { openForWriting } from "../session/open-for-writing.ts";
import { readOwnVersion } from "../program/read-own-version.ts";

interface OpenToCompactInput {
  /** As the user named it. */
  readonly session: string;
  readonly from: string | undefined;
  readonly upTo: string | undefined;
  readonly flags: readonly FlagInput[];
  readonly model: ModelChoice;
}

type OpenToCompactOutcome =
  | ({ readonly kind: "open"; readonly part: CompactionRange; readonly isCopy: boolean } & OpenedAgent)
  | Failure;

/** The agent, and what answers it: no model if there is no key. */
interface OpenedAgent {
  readonly agent: Agent;
  readonly answerer: Answerer;
}

/** Opens the session as an agent in the project it belongs to; for another tool's log, the copy made of it. */
export async function openToCompact(
  context: CommandContext,
  request: OpenToCompactInput,
): Promise<OpenToCompactOutcome> {
  const log = await openNamedLog(context, request.session);
  if (log.kind === "failure") return log;
  try {
    // Checked before another tool's log is copied: if the part does not exist, no copy is made.
    const counted = await openCounted(log, log);
    const wrong = wrongFileFailure(log, counted);
    if (wrong !== undefined) return wrong;
    const refused = await refuseClientSession(context, log);
    if (refused !== undefined) return refused;
    const part = findPart(counted.fold, request);
    if (part.kind === "failure") return part;
    const id = log.session?.id ?? (await copyLog(context, log));
    if (typeof id === "object") return id;
    const opened = await openInProject(context, { request, id, recorded: () => readLoggedCwd(log, counted.fold) });
    const { agent, answerer } = opened;
    if (agent.kind === "missing") return inOtherProject(id);
    if (agent.kind !== "agent") return agentFailure(agent, "End that process, or wait until it has finished.");
    return { kind: "open", agent, answerer, part, isCopy: log.session === undefined };
  } finally {
    await log.source.close();
  }
}

async function refuseClientSession({ env }: CommandContext, log: NamedLog): Promise<Failure | undefined> {
  const id = log.session?.id;
  const owner = id === undefined ? "agent" : await findSessionOwner({ id, source: log.source, env });
  if (id === undefined || owner === "agent") return undefined;
  return failure({
    code: exitCode.refused,
    message: `${belongsToText(id, owner)}: this command would add the system prompt and the tools of Palimpsest's own agent to it`,
    hint: `${
      owner === "gateway"
        ? "The gateway clears and compacts it itself; a smaller `context.contextTokens` in gateway.json makes it do so earlier."
        : "The program's context clears and compacts it itself."
    } \`palimpsest undo\` and \`palimpsest pin\` work.`,
  });
}

/** Its log was read a moment ago: what is missing is the way from here to its project. */
const inOtherProject = (id: SessionId): Failure =>
  failure({
    code: exitCode.notFound,
    message: `session ${id} belongs to another project, and its folder is not where it was`,
    hint: "Run it in the folder of that project.",
  });

function findPart(fold: Fold, { from, upTo }: OpenToCompactInput): CompactionRange | Failure {
  const named = from ?? upTo;
  if (named === undefined) return { kind: "all" };
  const entry: EntryId | undefined = findEntry(fold, { named });
  if (entry !== undefined) return { kind: from === undefined ? "up_to" : "from", entry };
  return failure({
    code: exitCode.notFound,
    message: `no message of the view is called ${joinLines(named)}`,
    hint: "`palimpsest context` names the largest entries of the view; a message's uuid stands in its line of the transcript.",
  });
}

async function copyLog(context: CommandContext, log: NamedLog): Promise<SessionId | Failure> {
  const opened = await openForWriting(context, log);
  if (opened.kind === "failure") return opened.code === exitCode.machine ? { ...opened, hint: copyHint } : opened;
  await opened.session.close();
  return opened.session.id;
}

const copyHint =
  "Another tool's transcript is copied into a session of our own first, for a preview too: that needs a home that can be written.";

interface OpenInProjectInput {
  readonly request: OpenToCompactInput;
  readonly id: SessionId;
  /** The session's folder, according to its newest entry. */
  readonly recorded: () => Promise<string | undefined>;
}

interface OpenAttempt {
  readonly agent: OpenAgentOutcome;
  readonly answerer: Answerer;
}

/** A session of another project has its settings and files there. Without a key, a summary is made without a model. */
async function openInProject(
  { env, cwd }: CommandContext,
  { request, id, recorded }: OpenInProjectInput,
): Promise<OpenAttempt> {
  const open = async (model: ModelChoice, place: string): Promise<OpenAttempt> => {
    const agent = await openAgent({
      env,
      cwd: place,
      version: readOwnVersion(),
      flags: request.flags,
      session: { kind: "resume", id },
      model,
      tools: { allow: [], deny: [] },
      // No tool is used here; but a tool that the session has had stays, so that no change is announced.
      net: openNet,
    });
    return { agent, answerer: model.kind };
  };
  const openIn = async (place: string): Promise<OpenAttempt> => {
    const opened = await open(request.model, place);
    if (opened.agent.kind !== "no-key") return opened;
    const message = `There is no key for a model. ${opened.agent.message}`;
    const baseUrl = request.model.kind === "provider" ? request.model.baseUrl : undefined;
    return open({ kind: "none", message, baseUrl }, place);
  };
  const attempt = await openIn(cwd);
  const recordedCwd = attempt.agent.kind === "missing" ? await recorded() : undefined;
  return recordedCwd === undefined || recordedCwd === cwd ? attempt : openIn(recordedCwd);
}

/** The line of the newest message in the view's path. */
async function readNewestLine({ source }: NamedLog, fold: Fold): Promise<JsonObject | undefined> {
  const leaf = fold.path.leaf?.id;
  const place = leaf === undefined ? undefined : fold.placeOf(leaf);
  if (place === undefined) return undefined;
  const line = parseJson(new TextDecoder().decode(await source.read(place)));
  return isObject(line) ? line : undefined;
}

async function readLoggedCwd(log: NamedLog, fold: Fold): Promise<string | undefined> {
  const line = await readNewestLine(log, fold);
  const cwd = line === undefined ? undefined : field(line, "cwd");
  if (typeof cwd !== "string") return undefined;
  const found = await stat(cwd).catch(() => undefined);
  return found?.isDirectory() === true ? cwd : undefined;
}
