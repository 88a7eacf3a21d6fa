import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { dreamQuestionsMax, questionWordsMax } from "../limits.ts";
import { findElements, lastUserText } from "./request-text.ts";

/** Which answer of a consolidation of memories a request wants: questions to the transcripts, or the changes. */
export function classifyDream(ask: string): "dream-questions" | "dream-changes" | undefined {
  if (!/\bmemor(?:y|ies)\b/i.test(ask)) return undefined;
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
  const removed = shown.flatMap((memory, at) => {
    const reason = findReason(memory, { older: shown.slice(0, at), newer: shown.slice(at + 1), said });
    return reason === undefined ? [] : [{ path: memory.path, text: memory.statement, ...reason }];
  });
  return JSON.stringify({ changes: removed.map(({ path }) => ({ path, delete: true })), removed });
}

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
    const statement = text.replace(/^---\n[^]*?\n---\n/, "").trim();
    return path === undefined || statement === "" ? [] : [{ path, facts, statement }];
  });
}

/** What the user said, as the transcripts were quoted. */
const readPassages = (ask: string): readonly string[] =>
  [...ask.matchAll(/^- \S+, the user said: (".*")$/gm)].flatMap(([, quoted = ""]) => {
    const text = tryParseJson(quoted);
    return typeof text === "string" ? [text] : [];
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
