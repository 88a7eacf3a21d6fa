import { expand, type ExpandOutcome } from "palimpsest/internal/session/expand";
import { searchSession, SessionSearch } from "palimpsest/internal/session/search-session";
import type { SearchOutcome, SearchHit, SessionSearchOutcome } from "palimpsest/internal/ports/session-search";
import { parsePlaceId, readLines } from "palimpsest/internal/transcript/read-lines";
import { agentId } from "palimpsest/internal/schema/brand";
import { readAgentPast } from "../agent/agents/read-agent-past.ts";
import { createMask } from "../host/project-recall.ts";
import type { NamedLog } from "./named-log.ts";
import { clip, quantity, formatNumber, joinLines, shortId } from "../text/format.ts";
import type { Style } from "../text/style.ts";
import { entryTexts } from "palimpsest/internal/recall/entry-texts";
import { exitCode, failure, type Failure } from "../program/failure.ts";

export interface RecallRequest {
  readonly query: string;
  /** The page of the hits, from 1; absent: the first. */
  readonly page?: number | undefined;
}

export type RecallOutcome =
  | { readonly kind: "id"; readonly expanded: ExpandOutcome }
  | { readonly kind: "words"; readonly searched: SearchOutcome }
  | Failure;

/**
 * Takes the query for an id if something has it. A few characters that begin an id may also be a word, and are searched
 * for first. What can only be an id and is none is searched for as it stands, since parts of it occur in other ids.
 */
export async function resolveRecall(log: NamedLog, { query, page = 1 }: RecallRequest): Promise<RecallOutcome> {
  const search = async (words: string): Promise<SearchOutcome | Failure> => {
    const searched = await searchLog(log, { query: words, page });
    return searched.kind === "unavailable"
      ? failure({ code: exitCode.machine, message: `nothing can be searched: ${searched.why}` })
      : searched;
  };
  // No id contains a space, and looking for one reads the whole log.
  const expanded: ExpandOutcome = /\s/.test(query) ? { kind: "not-found" } : await expandInLog(log, query);
  const searchOrId = async (words: string): Promise<RecallOutcome> => {
    const searched = await search(words);
    return searched.kind === "found" && searched.total > 0 ? { kind: "words", searched } : { kind: "id", expanded };
  };
  if (expanded.kind === "not-found") {
    if (idPattern.test(query)) return await searchOrId(`"${query}"`);
    const searched = await search(query);
    return searched.kind === "failure" ? searched : { kind: "words", searched };
  }
  const isPrefix =
    expanded.kind === "ambiguous" || (expanded.kind === "entry" && readEntryText(expanded.bytes).id !== query);
  return isPrefix && shortPrefix.test(query) ? await searchOrId(query) : { kind: "id", expanded };
}

/** The original behind an id; behind the id of one of its agents, the agent's whole report. */
export async function expandInLog(log: NamedLog, id: string): Promise<ExpandOutcome> {
  const { session } = log;
  const store = session !== undefined && agentPattern.test(id) ? session.deps.agentsOf?.(session.id) : undefined;
  const report = store && (await readAgentPast(store, agentId(id)))?.lastReply;
  return report === undefined
    ? await expand(log, log.source, id)
    : { kind: "result", bytes: new TextEncoder().encode(report), form: "text" };
}

const agentPattern = /^agent-[\da-f]+$/;

/** A session of ours in the project's index, if there is one; any other log in memory. */
async function searchLog(
  log: NamedLog,
  request: { readonly query: string; readonly page: number },
): Promise<SessionSearchOutcome> {
  const { session, source } = log;
  if (session === undefined) return await searchSession(log, { source, ...request });
  const search = new SessionSearch(session.deps, { session: session.id, maskText: createMask() });
  try {
    return (await search.search(request)) ?? { kind: "unavailable", why: "the transcript can't be read" };
  } finally {
    await search.close();
  }
}

/** Of calls, agents, entries and blobs. */
const idPattern = /^(?:toolu_\w+|agent-[\da-f]{8}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{64})$/i;
/** Lists show eight characters of an id. */
const shortPrefix = /^[\da-f]{4,7}$/i;

interface RecalledText {
  /** The whole id, if the query was a prefix of an entry's. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** For an entry, what was said in it; otherwise the whole content. */
export function toRecalledText(query: string, original: Pick<Original, "kind" | "bytes">): RecalledText {
  const entry = original.kind === "entry" ? readEntryText(original.bytes) : undefined;
  return {
    id: entry?.id === undefined || parsePlaceId(query) !== undefined ? query : entry.id,
    bytes: entry?.text === undefined ? original.bytes : new TextEncoder().encode(entry.text),
  };
}

/** Ids of the same line that are named; `--json` has them all. */
const alsoNamedMax = 5;

interface HitsLook {
  readonly style: Style;
  /** The command that shows this page. */
  readonly goesOn: (page: number) => string;
}

export function hitsText(
  { hits, page, pages, total, shown }: Extract<SearchOutcome, { kind: "found" }>,
  { style, goesOn }: HitsLook,
): string {
  if (total === 0) return "nothing found\n";
  const best = shown < total ? `, the best ${formatNumber(shown)} shown` : "";
  const where = pages > 1 ? `, page ${page} of ${pages}${page < pages ? ` (${goesOn(page + 1)})` : ""}` : "";
  return `${hits.map((hit) => hitText(style, hit)).join("")}${style("dim", `${quantity(total, "text")} found${best}${where}`)}\n`;
}

function hitText(style: Style, { id, kind, at, call, snippet, also, session, before, after }: SearchHit): string {
  // A memory is its own session: its path says it all.
  const isWhole = session?.id === id;
  const place = session === undefined || isWhole ? "" : `${shortId(session.id)}/`;
  const head = [
    style("bold", joinLines(`${place}${shortId(id)}`)),
    session === undefined || session.source === "session" || session.source === kind ? undefined : session.source,
    kind,
    at && joinLines(at),
    call === undefined ? undefined : clip(call, 80),
  ];
  const named = also.slice(0, alsoNamedMax).map((other) => joinLines(shortId(other)));
  const more = also.length > named.length ? ` and ${also.length - named.length} more` : "";
  const same = also.length === 0 ? "" : `  ${style("dim", `same line in ${named.join(", ")}${more}`)}\n`;
  const title =
    session?.title === undefined || isWhole ? "" : `  ${style("dim", `in ${clip(joinLines(session.title), 100)}`)}\n`;
  const neighbours = Object.entries({ before, after }).map(([where, neighbour]) =>
    neighbour === undefined ? "" : `    ${style("dim", `${where}, ${neighbour.kind}: ${joinLines(neighbour.text)}`)}\n`,
  );
  return `${head.filter((part) => part !== undefined).join("  ")}\n  ${joinLines(snippet)}\n${neighbours.join("")}${title}${same}`;
}

interface EntryText {
  /** The whole id, even if only a prefix was given. */
  readonly id: string | undefined;
  /** What was said in it, as hits quote it; undefined if it has no text. */
  readonly text: string | undefined;
}

/** What the user wants of an entry; `expand` prints its line as it is in the log. */
function readEntryText(bytes: Uint8Array): EntryText {
  const entry = readLines({ bytes, start: 0 }).logged[0]?.entry;
  if (entry === undefined) return { id: undefined, text: undefined };
  const texts = entryTexts(entry).map(({ text }) => text);
  return { id: entry.id, text: texts.length === 0 ? undefined : texts.join("\n") };
}

type Original = Extract<ExpandOutcome, { readonly bytes: Uint8Array }>;

interface OriginalInput {
  readonly id: string;
  /** The log's path. */
  readonly path: string;
  readonly expanded: ExpandOutcome;
}

/** The original, or why an id does not give one. */
export function originalOrFailure({ id, path, expanded }: OriginalInput): Original | Failure {
  switch (expanded.kind) {
    case "entry":
    case "result":
    case "blob":
      return expanded;
    case "not-found":
      return failure({
        code: exitCode.notFound,
        message: `nothing in ${path} has the id ${id}`,
        hint: "`palimpsest view --json` lists the ids of calls and repairs.",
      });
    case "ambiguous":
      return failure({
        code: exitCode.usage,
        message: `${expanded.candidates.length} entries begin with ${id}`,
        hint: `Write more of the id: ${expanded.candidates.slice(0, 4).join(", ")}${expanded.candidates.length > 4 ? ", …" : ""}`,
      });
    case "unanswered":
      return failure({
        code: exitCode.notFound,
        message: `the call ${id} has no result in ${path}`,
        hint: "Its entry's uuid gives the call itself.",
      });
    case "blob-missing":
      return failure({
        code: exitCode.notFound,
        message: `the blob ${expanded.blob} that holds it is gone or damaged`,
        hint: "Restore the project's blobs folder from a backup.",
      });
  }
}
