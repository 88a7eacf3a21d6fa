import { type DreamRule, nextDreamStep } from "palimpsest/internal/layers/6-dream/plan";
import { type DreamDeps, type DreamOutcome, runDream } from "palimpsest/internal/layers/6-dream/run-dream";
import type { DriftFinding } from "palimpsest/internal/memory/directory/show-memory";
import type { Memories, MemoryText } from "palimpsest/internal/ports/memories";
import type { SearchHit } from "palimpsest/internal/ports/session-search";
import { entryId, type Millis } from "palimpsest/internal/schema/brand";
import { collectEvents } from "./judge-memory.ts";
import type { ProjectSession } from "./project-session.ts";
import { RuleFork } from "./rule-fork.ts";
import { readTerms, sharedPart } from "./terms.ts";

export interface DreamMoment {
  readonly now: Millis;
  readonly lastAt: Millis | "never";
  /** The sessions that are over; `since`: how many of them since the last dream. */
  readonly sessions: readonly ProjectSession[];
  readonly since: number;
}

export interface DreamReport {
  readonly outcome: DreamOutcome;
  /** In tokens at the base input price. */
  readonly cost: number;
}

/** Runs a dream if the engine's gates are open, with the rule-based model in the fork and all sessions so far to search in. */
export async function dreamOver(
  memories: Memories,
  { rule, moment }: { readonly rule: DreamRule; readonly moment: DreamMoment },
): Promise<DreamReport | undefined> {
  const { now, lastAt, sessions, since } = moment;
  const last = sessions.at(-1);
  const step = nextDreamStep({ rule, now, lastAt, scannedAt: undefined, sessions: since });
  if (step.kind !== "open" || last === undefined) return undefined;
  const fork = new RuleFork([]);
  const deps: DreamDeps = {
    memories,
    fork,
    now: () => now,
    search: ({ query }) => Promise.resolve({ kind: "found", ...searchSaid(sessions, query) }),
    drift: (texts) => Promise.resolve(findGone(sessions, texts)),
  };
  const tools = { memory: undefined, recall: undefined, read: [], sandbox: "unheld" } as const;
  const outcome = await runDream(deps, { mode: "commit", tools }, new AbortController().signal);
  return { outcome, cost: priceDream(fork, last) };
}

/** The tools and the system prompt are read from the cache of the session that it runs in. */
const priceDream = ({ exchanges }: RuleFork, { recording: { headerTokens, tokensOf } }: ProjectSession): number =>
  exchanges.reduce((sum, { directive, answer }) => {
    const [asked, answered] = [directive, answer].map((text) => tokensOf({ type: "text", text }));
    return sum + readRate * headerTokens + (asked ?? 0) + outputRate * (answered ?? 0);
  }, 0);

const [readRate, outputRate] = [0.1, 5];

/** What the user said with the words of a query, best first. */
function searchSaid(sessions: readonly ProjectSession[], query: string) {
  const wanted = readTerms(query);
  const hits = sessions.flatMap(({ name, said }) =>
    said.flatMap(({ text, loggedAt }, at): readonly SearchHit[] => {
      const score = sharedPart(wanted, readTerms(text));
      if (score < hitShareMin) return [];
      const snippet = text.slice(0, snippetCharsMax);
      const where = { call: undefined, offset: undefined, also: [] };
      return [{ id: entryId(`${name}-${at}`), kind: "user", at: loggedAt, snippet, score, ...where }];
    }),
  );
  const best = hits.toSorted((one, other) => other.score - one.score).slice(0, hitsMax);
  return { hits: best, page: 1, pages: 1, total: hits.length, shown: best.length };
}

const hitShareMin = 0.3;
const hitsMax = 10;
const snippetCharsMax = 400;

/** What a working tree would not have any more: files that a recorded command removed. */
function findGone(
  sessions: readonly ProjectSession[],
  memories: readonly MemoryText[],
): ReadonlyMap<string, readonly DriftFinding[]> {
  const { removed } = collectEvents(sessions);
  return new Map(
    memories.flatMap(({ path, text }) => {
      const gone = removed.filter((file) => text.includes(file.path));
      return gone.length === 0
        ? []
        : [[path, gone.map((file) => ({ kind: "file", name: file.path }) as const)] as const];
    }),
  );
}
