import { SessionDream } from "palimpsest/internal/context/memory/session-dream";
import type { DreamTask } from "palimpsest/internal/layers/6-dream/dream-task";
import type { Entry } from "palimpsest/internal/schema/entry";
import { readLog } from "palimpsest/internal/session/counted-log";
import { DriftCheck } from "palimpsest/internal/memory/directory/find-drift";
import { fileWorkingTree } from "palimpsest/internal/store/files/file-working-tree";
import { memoryToolName } from "../../tool/memory-tool.ts";
import { recallToolName } from "../../tool/recall-tool.ts";
import { findWordsIn } from "../../tool/search/find-words.ts";
import type { AgentParts } from "../agent-options.ts";
import {
  type BackgroundMemoryInput,
  backgroundMemoryState,
  isUntrusted,
  readPrompt,
  readTools,
  searchProject,
} from "./open-session-extraction.ts";

/** The dreams of an agent's session, for its user. */
export interface AgentDream extends Pick<SessionDream, "task" | "run" | "kill"> {
  /** Why a dream that the user asks for had better not run; undefined if nothing is against it. */
  readonly findObstacle: () => Promise<DreamObstacle | undefined>;
  /** Calls the newest listener whenever `task` changes. */
  readonly watch: (listener: (task: DreamTask) => void) => void;
  /** For the end of each turn: dreams if it is time and the place allows it. Returns at once. */
  readonly turnEnded: () => void;
  /** For the end of the session: awaits a dream that was asked for in a session of one turn, and stops any other. */
  readonly finish: () => Promise<void>;
}

export type DreamObstacle =
  | { readonly kind: "memory-off" | "dream-off" | "untrusted" | "no-memories" }
  /** Nothing was said or saved since the last dream. */
  | { readonly kind: "nothing-new"; readonly lastAt: number };

/** Undefined if the store has no memories or nothing that says when they were last consolidated. */
export function openSessionDream(parts: AgentParts, input: BackgroundMemoryInput): AgentDream | undefined {
  const { session, deps, secrets, root, options, workspace } = parts;
  const { memories, dreams, sessions } = deps;
  if (dreams === undefined) return undefined;
  const { context, fork, settings } = input;
  const { now } = context.deps;
  const programFolders = options.env["PATH"] ?? "";
  const tree = fileWorkingTree({ deps: { now }, root, programFolders, findWords: findWordsIn(root) });
  const drift = new DriftCheck({ now }, tree);
  let listener: ((task: DreamTask) => void) | undefined;
  const dream = new SessionDream(
    {
      now,
      settings: context.deps.settings,
      memories,
      dreams,
      sessions,
      fork,
      scanner: secrets,
      search: searchProject(parts),
      drift: (texts) => drift.check(texts),
      tools: () => toolNames(input),
      template: () => readPrompt(workspace.home, { work: "dream", warn: input.warn }),
      spend: input.spend,
      known: () => context.conversation.known,
      fixedTokens: () => context.conversation.line.fixedTokens,
      emit: input.onEvent,
      onTask: (task) => listener?.(task),
    },
    { session },
  );
  const turns = options.turns ?? "many";
  let automatic: Promise<unknown> = Promise.resolve();
  const isOn = (): boolean =>
    settings.current().settings.autoMemoryEnabled.value &&
    backgroundMemoryState(settings, { turns, mode: input.mode(), flag: "flags.dream" }) === "on";
  return {
    get task() {
      return dream.task;
    },
    run: (request) => dream.run(request),
    kill: () => dream.kill(),
    findObstacle: () => findObstacle(parts, input),
    watch: (newest) => void (listener = newest),
    turnEnded: () => {
      if (isOn()) automatic = dream.run({ mode: "commit" });
    },
    finish: async () => {
      if (turns === "many") await dream.kill();
      await automatic;
    },
  };
}

function toolNames({ box, sandbox }: Pick<BackgroundMemoryInput, "box" | "sandbox">) {
  const names = new Set(box.tools.map(({ name }) => name));
  const known = (name: string): string | undefined => (names.has(name) ? name : undefined);
  return {
    memory: known(memoryToolName),
    recall: known(recallToolName),
    read: readTools.filter((name) => names.has(name)),
    sandbox: sandbox().kind === "held" ? "held" : "unheld",
  } as const;
}

async function findObstacle(
  { deps, session }: AgentParts,
  { settings, context }: Pick<BackgroundMemoryInput, "settings" | "context">,
): Promise<DreamObstacle | undefined> {
  if (!settings.current().settings.autoMemoryEnabled.value) return { kind: "memory-off" };
  if (!context.deps.settings().switches.dream.value) return { kind: "dream-off" };
  if (isUntrusted(settings)) return { kind: "untrusted" };
  const { memories, dreams, sessions } = deps;
  const memoriesNow = await memories.list();
  if (!memoriesNow.some(({ role }) => role === "memory")) return { kind: "no-memories" };
  const lastAt = await dreams?.lastAt();
  if (lastAt === undefined || isSaidSince(session.fold.path.everyBranch, lastAt)) return undefined;
  if ((await memories.history()).some(({ at, author }) => author !== "dream" && at > lastAt)) return undefined;
  for (const { sessionId, modified } of await sessions.list()) {
    if (sessionId === session.id || Date.parse(modified) <= lastAt) continue;
    const log = await readLog(deps, sessionId);
    if (log === undefined || isSaidSince(log.fold.path.everyBranch, lastAt)) return undefined;
  }
  return { kind: "nothing-new", lastAt };
}

/** Messages count, and bookings do not: a dream books its price in the transcript of a session, after it has begun. */
function isSaidSince(entries: Iterable<Entry>, lastAt: number): boolean {
  for (const { kind, timestamp } of entries)
    if ((kind === "user" || kind === "assistant") && Date.parse(timestamp ?? "") > lastAt) return true;
  return false;
}
