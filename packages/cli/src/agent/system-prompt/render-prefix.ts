import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { FrozenParts, SystemPiece } from "palimpsest/internal/cache/baseline";
import type { FollowedSettings } from "../follow-settings.ts";
import { localDay, renderSystemPrompt } from "./render-system-prompt.ts";
import type { FetchOutcome, InstructionFiles } from "palimpsest/internal/memory/instruction-files";
import type { InstructionPlace } from "palimpsest/internal/memory/load-instruction-file";
import { type LoadedInstructions, loadInstructions } from "palimpsest/internal/memory/load-instructions";
import type { Tool } from "palimpsest/internal/ports/tool";
import { modelName, findModel } from "palimpsest/internal/tokens/known-models";
import type { AgentParts } from "../agent-options.ts";
import type { TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import type { Entry } from "palimpsest/internal/schema/entry";
import { readLines } from "palimpsest/internal/transcript/read-lines";
import { promptHeadBytes } from "palimpsest/internal/session/limits";
import { redactSystem } from "palimpsest/internal/session/redaction";
import type { Session } from "palimpsest/internal/session/session";
import { instructionPlace } from "../instructions/instruction-place.ts";
import { instructionSource } from "../instructions/instruction-source.ts";

export interface PrefixInput {
  readonly model: string;
  readonly cwd: string;
  readonly tools: readonly Tool[];
  readonly settings: FollowedSettings;
  /** How instruction files are reached. */
  readonly source: InstructionFiles;
  /** What the session says about memory; it stays as it was when the session began. */
  readonly memory?: SystemPiece | undefined;
  /** What an agent of a type has instead of the usual prompt. */
  readonly prompt?: string | undefined;
}

/**
 * For one session: an address is asked once, whatever it answers, since instructions are looked at before every request.
 */
export function sessionSource({ workspace, options: { net }, deps }: AgentParts): InstructionFiles {
  const source = instructionSource({ net, home: workspace.home, now: deps.now });
  const answerByUrl = new Map<string, Promise<FetchOutcome>>();
  return {
    ...source,
    fetch: (url) => {
      const answer = answerByUrl.get(url) ?? source.fetch(url);
      answerByUrl.set(url, answer);
      return answer;
    },
  };
}

/** What requests would carry besides messages if they were rendered now. */
export async function renderPrefix(
  { workspace, options, deps, root, session, redaction }: AgentParts,
  { model, cwd, tools, settings, source, memory, prompt }: PrefixInput,
): Promise<Prefix> {
  const { env, importAnswers, managedFolders } = options;
  const location = { home: workspace.home, env, cwd, root, managedFolders, importAnswers };
  const place = instructionPlace({ ...location, reading: settings.current() });
  const instructions = await loadInstructions(source, place);
  const git = (await isRepository(root)) ? "repository" : "none";
  const startedOn = localDay((await readSessionStart(deps, session)) ?? deps.now());
  const environment = {
    model,
    cwd,
    platform: process.platform,
    git,
    startedOn,
  } as const;
  const { value: choices } = settings.current().settings.systemPrompts;
  const system = [
    ...renderSystemPrompt({ choices, environment, instructions: instructions.files, prompt }),
    ...(memory === undefined ? [] : [memory]),
  ];
  return {
    parts: {
      model,
      ...thinkingOptions(model),
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
      system: await redactSystem(system, { redaction }),
    },
    startedOn,
    instructions,
    place,
  };
}

export interface Prefix {
  readonly parts: FrozenParts;
  /** The day that the environment names. */
  readonly startedOn: string;
  readonly instructions: LoadedInstructions;
  /** Where they come from. */
  readonly place: InstructionPlace;
}

const isRepository = async (root: string): Promise<boolean> =>
  stat(join(root, ".git")).then(
    () => true,
    () => false,
  );

/**
 * Models since 4.6 decide by themselves how much to think. For models whose thinking is only valid behind the prefix it
 * was made with, the server is asked to drop thinking that an edit or an undo has separated from its prefix, instead of
 * refusing the request.
 */
function thinkingOptions(model: string): Pick<FrozenParts, "thinking" | "betas"> {
  if (!/claude/.test(model) || modelName(model).version < 4.06) return { betas: [] };
  if (findModel(model)?.thinking !== "bound") return { betas: [], thinking: { type: "adaptive" } };
  return {
    betas: ["thinking-binding-controls-2026-08-01"],
    thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
  };
}

/**
 * When the first entry of the session's path was written. The path of a log that was opened at a boundary begins there,
 * so the head of the log is read. Undefined if nothing was written yet or the head can't be read.
 */
async function readSessionStart(
  { transcripts }: TranscriptsDep,
  { id, fold, read }: Pick<Session, "id" | "fold" | "read">,
): Promise<number | undefined> {
  if (read.from === "beginning") return entryTime(fold.path.at(0)?.entry);
  const source = await transcripts.openForReading(id);
  if (source === undefined) return undefined;
  try {
    const bytes = await source.read({ start: 0, end: Math.min(promptHeadBytes, source.size) });
    const { logged } = readLines({ bytes, start: 0, last: true });
    return entryTime(logged.find(({ entry }) => isOfPath(entry))?.entry);
  } finally {
    await source.close();
  }
}

/** The line that names the origin of a copy precedes the conversation. */
const isOfPath = (entry: Entry): boolean =>
  entry.id !== undefined && !entry.sidechain && !(entry.kind === "edit" && entry.edit.type === "origin");

function entryTime(entry: Entry | undefined): number | undefined {
  const at = entry?.timestamp === undefined ? Number.NaN : Date.parse(entry.timestamp);
  return Number.isNaN(at) ? undefined : at;
}
