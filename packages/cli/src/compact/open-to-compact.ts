import { stat } from "node:fs/promises";
import type { ModelChoice } from "../agent/model-choice.ts";
import type { Agent, AgentOpened } from "../agent/agent.ts";
import { openAgent } from "../agent/open-agent.ts";
import { openCounted } from "palimpsest/internal/session/counted";
import type { EntryId, SessionId } from "palimpsest/internal/schema/brand";
import type { CompactionPart } from "palimpsest/internal/schema/compaction";
import { field, isObject, parseJson } from "palimpsest/internal/schema/json";
import type { FlagInput } from "../settings/flags.ts";
import { openNet } from "../tool/web/get.ts";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { agentNotOpened } from "../agent-not-opened.ts";
import type { CommandContext } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { findEntry } from "../find-entry.ts";
import { oneLine } from "../human.ts";
import { type NamedLog, openNamedLog, wrongFile } from "../named-log.ts";
import { openForWriting } from "../open-for-writing.ts";
import { ownVersion } from "../version.ts";
import type { Answerer } from "./simulated.ts";

export interface ToCompact {
  /** As the person named it. */
  readonly session: string;
  readonly from: string | undefined;
  readonly upTo: string | undefined;
  readonly flags: readonly FlagInput[];
  readonly model: ModelChoice;
}

export type OpenedToCompact =
  | ({ readonly kind: "open"; readonly part: CompactionPart; readonly isCopy: boolean } & Asking)
  | Failure;

/** The agent, and who it asks: nobody where there is no key. */
interface Asking {
  readonly agent: Agent;
  readonly answerer: Answerer;
}

/** The session as an agent, in the project it belongs to; another tool's log as the copy that is made of it. */
export async function openToCompact(context: CommandContext, asked: ToCompact): Promise<OpenedToCompact> {
  const log = await openNamedLog(context, asked.session);
  if (log.kind === "failure") return log;
  try {
    // Before another tool's log is copied: where the part is not there, no copy is made.
    const counted = await openCounted(log, log);
    const wrong = wrongFile(log, counted);
    if (wrong !== undefined) return wrong;
    const part = partOf(counted.fold, asked);
    if (part.kind === "failure") return part;
    const id = log.session?.id ?? (await copied(context, log));
    if (typeof id === "object") return id;
    const opened = await agentOf(context, { asked, id, recorded: () => recordedCwd(log, counted.fold) });
    const { agent, answerer } = opened;
    if (agent.kind === "missing") return elsewhere(id);
    if (agent.kind !== "agent") return agentNotOpened(agent, "End that process, or wait until it has finished.");
    return { kind: "open", agent, answerer, part, isCopy: log.session === undefined };
  } finally {
    await log.source.close();
  }
}

/** Its log was read a moment ago: what is missing is the way from here to its project. */
const elsewhere = (id: SessionId): Failure =>
  failure({
    code: exitCode.notFound,
    message: `session ${id} belongs to another project, and its folder is not where it was`,
    hint: "Run it in the folder of that project.",
  });

function partOf(fold: Fold, { from, upTo }: ToCompact): CompactionPart | Failure {
  const named = from ?? upTo;
  if (named === undefined) return { kind: "all" };
  const entry: EntryId | undefined = findEntry(fold, { named });
  if (entry !== undefined) return { kind: from === undefined ? "up_to" : "from", entry };
  return failure({
    code: exitCode.notFound,
    message: `no message of the view is called ${oneLine(named)}`,
    hint: "`palimpsest context` names the largest entries of the view; a message's uuid stands in its line of the transcript.",
  });
}

async function copied(context: CommandContext, log: NamedLog): Promise<SessionId | Failure> {
  const opened = await openForWriting(context, log);
  if (opened.kind === "failure") return opened.code === exitCode.machine ? { ...opened, hint: copyHint } : opened;
  await opened.session.close();
  return opened.session.id;
}

const copyHint =
  "Another tool's transcript is copied into a session of our own first, for a preview too: that needs a home that can be written.";

interface Opening {
  readonly asked: ToCompact;
  readonly id: SessionId;
  /** Where the session was at home, by its newest entry. */
  readonly recorded: () => Promise<string | undefined>;
}

interface Tried {
  readonly agent: AgentOpened;
  readonly answerer: Answerer;
}

/** A session of another project has its settings and its files there; without a key a summary goes without a model. */
async function agentOf({ env, cwd }: CommandContext, { asked, id, recorded }: Opening): Promise<Tried> {
  const open = async (model: ModelChoice, place: string): Promise<Tried> => {
    const agent = await openAgent({
      env,
      cwd: place,
      version: ownVersion(),
      flags: asked.flags,
      session: { kind: "resume", id },
      model,
      tools: { allow: [], deny: [] },
      // No tool is used here; one that a session has had stays its own, so that nobody is told of a change.
      net: openNet,
    });
    return { agent, answerer: model.kind };
  };
  const openIn = async (place: string): Promise<Tried> => {
    const opened = await open(asked.model, place);
    if (opened.agent.kind !== "no-key") return opened;
    const message = `There is no key for a model. ${opened.agent.message}`;
    const baseUrl = asked.model.kind === "provider" ? asked.model.baseUrl : undefined;
    return open({ kind: "none", message, baseUrl }, place);
  };
  const here = await openIn(cwd);
  const home = here.agent.kind === "missing" ? await recorded() : undefined;
  return home === undefined || home === cwd ? here : openIn(home);
}

async function recordedCwd({ source }: NamedLog, fold: Fold): Promise<string | undefined> {
  const leaf = fold.path.leaf?.id;
  const place = leaf === undefined ? undefined : fold.placeOf(leaf);
  if (place === undefined) return undefined;
  const line = parseJson(new TextDecoder().decode(await source.read(place)));
  const cwd = isObject(line) ? field(line, "cwd") : undefined;
  if (typeof cwd !== "string") return undefined;
  const found = await stat(cwd).catch(() => undefined);
  return found?.isDirectory() === true ? cwd : undefined;
}
