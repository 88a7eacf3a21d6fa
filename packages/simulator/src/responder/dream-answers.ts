import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { dreamQuestionsMax, dreamViewsMax, questionWordsMax } from "../limits.ts";
import { isCall, memoryToolCall, memoryToolFolder } from "./memory-writes.ts";
import { collectToolCalls, findElements, lastUserText, userTexts } from "./request-text.ts";
import type { Move } from "./responder.ts";

/** What a consolidation of memories wants: questions to the transcripts, the changes as text, or calls of the memory tool. */
export function classifyDream(ask: string): "dream-questions" | "dream-changes" | "dream-calls" | undefined {
  if (!/\bmemor(?:y|ies)\b/i.test(ask)) return undefined;
  if (/\{"removed": \[/.test(ask)) return "dream-calls";
  if (/\{"queries": \[/.test(ask)) return "dream-questions";
  return /\{"changes": \[/.test(ask) ? "dream-changes" : undefined;
}

/** The first words of each memory's statement. */
export function dreamQuestions(request: MessagesRequest): string {
  const queries = readShown(lastUserText(request)).map(({ statement }) =>
    statement.split(/\s+/).slice(0, questionWordsMax).join(" "),
  );
  return JSON.stringify({ queries: queries.slice(0, dreamQuestionsMax) });
}

/**
 * Deletes a memory if what it names is reported as not found, if the user said the opposite later, if a newer memory says
 * the opposite, or if an older one says the same. Everything else stays as it is.
 */
export function dreamChanges(request: MessagesRequest): string {
  const ask = lastUserText(request);
  const shown = readShown(ask);
  const said = readPassages(ask);
  const removed = findRemovals(shown, { order: "oldest-first", said });
  return JSON.stringify({ changes: removed.map(({ path }) => ({ path, delete: true })), removed });
}

/**
 * The next move of a consolidation with the memory tool: views the listed memories, then deletes those that name something
 * gone or that say the same as one listed before, then gives the reasons. What has been done is read off the calls so far.
 */
export function dreamMove(request: MessagesRequest): Move {
  const askedAt = userTexts(request).at(-1)?.at ?? 0;
  const done = collectToolCalls(request).filter(({ at }) => at > askedAt);
  const listed = readListed(lastUserText(request));
  const views = listed.map(({ path }) => ({ command: "view", path: `${memoryToolFolder}/${path}` }));
  const unseen = views.filter((view) => !done.some((call) => isCall(call, view)));
  if (unseen.length > 0) return { kind: "say", blocks: unseen.map(memoryToolCall) };
  const shown = listed.flatMap(({ path, facts }, at) => {
    const view = views[at];
    const result = view === undefined ? undefined : done.find((call) => isCall(call, view))?.result;
    const statement = result?.failed === false ? withoutHead(withoutNumbers(result.text)) : "";
    return statement === "" ? [] : [{ path, facts, statement }];
  });
  const removed = findRemovals(shown, { order: "unknown", said: [] });
  const deletions = removed.map(({ path }) => ({ command: "delete", path: `${memoryToolFolder}/${path}` }));
  const open = deletions.filter((deletion) => !done.some((call) => isCall(call, deletion)));
  if (open.length > 0) return { kind: "say", blocks: open.map(memoryToolCall) };
  return { kind: "say", blocks: [{ type: "text", text: JSON.stringify({ removed }) }] };
}

/** The memories that the request lists by a line each. Those of strangers are left alone. */
const readListed = (ask: string): readonly Omit<ShownMemory, "statement">[] =>
  (findElements(ask, (name) => name === "memories")[0]?.inside ?? "")
    .split("\n")
    .flatMap((line) => {
      const [, path, facts = ""] = /^(\S+) \((.*?)\) /.exec(line) ?? [];
      return path === undefined || facts.includes("UNTRUSTED") ? [] : [{ path, facts }];
    })
    .slice(0, dreamViewsMax);

const withoutNumbers = (viewed: string): string =>
  viewed
    .split("\n")
    .slice(1)
    .map((line) => line.replace(/^\s*\d+\t/, ""))
    .join("\n");

const withoutHead = (text: string): string => text.replace(/^---\n[^]*?\n---\n/, "").trim();

interface ShownMemory {
  readonly path: string;
  /** What stands in brackets behind the path: type, age, author, what is not found. */
  readonly facts: string;
  readonly statement: string;
}

/** The memories whose texts the request shows, oldest first. Those of strangers are left alone. */
function readShown(ask: string): readonly ShownMemory[] {
  const inside = findElements(ask, (name) => name === "memory_texts")[0]?.inside ?? "";
  return inside.split(/^(?=Memory \S+ \()/m).flatMap((part) => {
    const [, path, facts = "", text = ""] = /^Memory (\S+) \((.*)\):\n([^]*)$/.exec(part) ?? [];
    const statement = withoutHead(text);
    return path === undefined || statement === "" ? [] : [{ path, facts, statement }];
  });
}

/** What the user said, as the transcripts were quoted. */
const readPassages = (ask: string): readonly string[] =>
  [...ask.matchAll(/^- \S+, the user said: (".*")$/gm)].flatMap(([, quoted = ""]) => {
    const text = tryParseJson(quoted);
    return typeof text === "string" ? [text] : [];
  });

interface RemovalInput {
  /** Only a memory that is known to be newer takes the place of another. */
  readonly order: "oldest-first" | "unknown";
  readonly said: readonly string[];
}

const findRemovals = (shown: readonly ShownMemory[], { order, said }: RemovalInput) =>
  shown.flatMap((memory, at) => {
    const newer = order === "unknown" ? [] : shown.slice(at + 1);
    const reason = findReason(memory, { older: shown.slice(0, at), newer, said });
    return reason === undefined ? [] : [{ path: memory.path, text: memory.statement, ...reason }];
  });

interface Surroundings {
  readonly older: readonly ShownMemory[];
  readonly newer: readonly ShownMemory[];
  readonly said: readonly string[];
}

function findReason(
  { facts, statement }: ShownMemory,
  { older, newer, said }: Surroundings,
): { readonly why: string; readonly evidence: string } | undefined {
  if (facts.includes("not found now")) return { why: "gone", evidence: "" };
  const against = [...newer.map((memory) => memory.statement), ...said].find((other) => isOpposite(statement, other));
  if (against !== undefined) return { why: "contradicted", evidence: against };
  const same = older.find((memory) => isSame(statement, memory.statement));
  return same === undefined ? undefined : { why: "duplicate", evidence: same.statement };
}

const meaningWords = (text: string): ReadonlySet<string> =>
  new Set(
    (text.toLowerCase().match(/[\p{L}\p{N}_./-]{2,}[\p{L}\p{N}]/gu) ?? []).filter((word) => !negation.test(word)),
  );

/** Matches single words and texts. */
const negation = /\b(?:never|not|no|don'?t|stop|without)\b|n't\b/i;

function overlap(one: string, other: string): number {
  const [words, others] = [meaningWords(one), meaningWords(other)];
  const least = Math.min(words.size, others.size);
  return least < 2 ? 0 : words.intersection(others).size / Math.max(words.size, others.size);
}

const isSame = (one: string, other: string): boolean =>
  overlap(one, other) >= 0.8 && negation.test(one) === negation.test(other);

const isOpposite = (one: string, other: string): boolean =>
  overlap(one, other) >= 0.7 && negation.test(one) !== negation.test(other);
