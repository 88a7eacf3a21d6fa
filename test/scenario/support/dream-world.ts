import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { SessionDream, type SessionDreamDeps } from "../../../packages/palimpsest/src/context/memory/session-dream.ts";
import type { Fork } from "../../../packages/palimpsest/src/ports/fork.ts";
import type { Memories, MemoryText, MemoryTrust } from "../../../packages/palimpsest/src/ports/memories.ts";
import type { SessionList } from "../../../packages/palimpsest/src/ports/store.ts";
import { bytes, millis, sessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import type { Session } from "../../../packages/palimpsest/src/session/session.ts";
import { resolveForModel } from "../../../packages/palimpsest/src/settings/resolved-settings.ts";
import { resolveSettings } from "../../../packages/palimpsest/src/settings/resolve-settings.ts";
import { filePorts } from "../../../packages/palimpsest/src/store/files/store.ts";
import { opened, testDeps } from "../../fixture/session.ts";
import { temporaryFolder } from "../../contract/temporary-folder.ts";

/** So many other sessions, all written to just now. */
export const otherSessions = (count: number, modified = () => Date.now()): SessionList => ({
  list: async () =>
    Array.from({ length: count }, (_, at) => ({
      sessionId: sessionId(`other-${at}`),
      firstPrompt: "",
      summary: undefined,
      messageCount: 1,
      created: undefined,
      modified: new Date(modified()).toISOString(),
      gitBranch: undefined,
      projectPath: undefined,
      isSidechain: false,
      sizeBytes: bytes(1),
    })),
});

export const toolNames = { memory: "memory", recall: "recall", read: [], sandbox: "unheld" } as const;
export const textOnly = { ...toolNames, memory: undefined, recall: undefined } as const;
export const dreamSettings = () => resolveForModel(resolveSettings([]), { model: "claude-sonnet-5-5" });

export interface DreamWorld {
  readonly folder: string;
  readonly memories: Memories;
  readonly session: Session;
  readonly events: LoopEvent[];
  /** Moves the clock. */
  readonly pass: (ms: number) => void;
  readonly now: () => number;
  /** Saves memories, each an hour younger than the one before. */
  readonly seed: (textByPath: Readonly<Record<string, string>>, trust?: MemoryTrust) => Promise<void>;
  readonly open: (fork: Fork, over?: Partial<SessionDreamDeps>) => SessionDream;
  /** Every memory with its text; without the index. */
  readonly texts: () => Promise<Readonly<Record<string, string>>>;
}

/** A project in files with a clock of its own. */
export async function createDreamWorld(): Promise<DreamWorld> {
  const folder = join(await temporaryFolder(), "p");
  let passed = 0;
  const now = () => millis(Date.now() + passed);
  const { memories, dreams } = filePorts({ deps: { now, uuid: randomUUID }, folder, durability: "never" });
  const session = await opened(testDeps());
  onTestFinished(() => session.close());
  const events: LoopEvent[] = [];
  return {
    folder,
    memories,
    session,
    events,
    now,
    pass: (ms) => (passed += ms),
    seed: async (textByPath, trust = "trusted") => {
      for (const [path, text] of Object.entries(textByPath)) {
        passed += 60 * 60_000;
        const outcome = await memories.commit({
          author: "agent",
          provenance: { at: now(), trust },
          message: `save ${path}`,
          changes: [{ path, expected: "any", text: `${text}\n` }],
        });
        if (outcome.kind !== "committed") throw new Error(JSON.stringify(outcome));
      }
    },
    open: (fork, over = {}) =>
      new SessionDream(
        {
          now,
          memories,
          dreams,
          fork,
          sessions: otherSessions(5, now),
          settings: dreamSettings,
          tools: () => toolNames,
          ...paidByNobody,
          emit: (event) => events.push(event),
          ...over,
        },
        { session },
      ),
    texts: async () => {
      const listed = await memories.list();
      const read = await Promise.all(
        listed.filter(({ role }) => role === "memory").map(({ path }) => memories.read(path)),
      );
      return Object.fromEntries(
        read.flatMap((memory): [string, string][] => (memory === undefined ? [] : [toRow(memory)])),
      );
    },
  };
}

const toRow = ({ path, text }: MemoryText): [string, string] => [path, text.trim()];

/** The budget of background work has room, and the model no price. */
const paidByNobody: Pick<SessionDreamDeps, "spend" | "known" | "fixedTokens"> = {
  spend: { mayStart: async () => ({ kind: "ok" }) },
  known: () => undefined,
  fixedTokens: () => 0,
};
