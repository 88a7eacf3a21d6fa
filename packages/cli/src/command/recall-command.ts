import type { ExpandOutcome } from "palimpsest/internal/session/expand";
import { openLog } from "palimpsest/internal/session/open-log";
import type { SearchOutcome } from "palimpsest/internal/ports/session-search";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { recallCharsDefault } from "../tool/limits.ts";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { originalOrFailure, hitsText, resolveRecall, toRecalledText } from "../session/resolve-recall.ts";
import { formatNumber, joinLines } from "../text/format.ts";
import { expandFound, openCaughtUpRecall, parseFilters, type WrittenFilters } from "../session/recall-all.ts";
import { type NamedLog, openNamedLog, wrongFileFailure } from "../session/named-log.ts";
import { sessionOperand, usageFailure } from "../program/parse-arguments.ts";

export const recallCommand = command({
  name: "recall",
  summary: "search everything a session ever held, or print the original behind an id",
  operands: {
    // Not needed with --all.
    session: { ...sessionOperand, takes: "optional" },
    words: { shown: "query|id", summary: "words to search for, or an id as `expand` takes it", takes: "many" },
  },
  options: {
    all: {
      type: "boolean",
      summary: "search all sessions of the project, also other agents', its notes and memories; takes no session",
    },
    session: { type: "string", shown: "id", summary: "with --all: only this session" },
    tool: { type: "string", shown: "name", summary: "with --all: calls of this tool and their results" },
    file: { type: "string", shown: "path", summary: "with --all: calls that name this file, and their results" },
    after: { type: "string", shown: "time", summary: "with --all: from this time on" },
    before: { type: "string", shown: "time", summary: "with --all: before this time" },
    kind: { type: "string", shown: "kind", summary: "with --all: user, reply, call, result, …" },
    source: { type: "string", shown: "name", summary: "with --all: session, codex, claude-code, notes, …" },
    page: {
      type: "string",
      shown: "number",
      summary: `from 1: ten hits a page, or for an id ${formatNumber(recallCharsDefault)} characters a page`,
    },
  },
  json: "query, hits, page, pages, total, shown; of an id: kind, id, text, and with --page also page, pages",
  details: [
    'A hit has any of the words, best first; "words in quotation marks" match only as a phrase (quote them for your shell too: \'"as it stands"\'). Case does not matter, and a part of a name finds the name: limit finds retryLimit.',
    "With --all and a filter the query may be missing: then the newest texts that pass the filter are listed.",
    "The search also finds what was cleared, offloaded, summarised or left on another branch.",
    "A hit begins with its id: `palimpsest recall <session> <id>` prints the whole: the text of an entry, the result of a call. A prefix of an entry's id works too, one of 4 to 7 characters only if it is not found as a word.",
    "Exit code 1: nothing was found, or the page is after the last one. Exit code 3: there is no such session or file, nothing has that id, or the original is gone.",
  ],
  run: async (context, { operands, options, format }) => {
    const page = parsePage(options.page);
    if (page === "none")
      return failure({
        code: exitCode.usage,
        message: `--page ${options.page} is no page`,
        hint: `A whole number from 1 to ${pagesMax}.`,
      });
    const { all, page: _, ...filters } = options;
    const { session } = operands;
    const words = session === undefined ? operands.words : [session, ...operands.words];
    if (all) return await recallAll(context, { words, filters, page, format });
    const [filter] = Object.entries(filters).find(([, value]) => value !== undefined) ?? [];
    if (filter !== undefined)
      return failure({
        code: exitCode.usage,
        message: `--${filter} works with --all`,
        hint: "`palimpsest recall --all --session <id> <query>` searches one session with filters.",
      });
    if (session === undefined) return usageFailure(`<${sessionOperand.shown}> is missing`, "palimpsest recall");
    if (operands.words.length === 0)
      return failure({
        code: exitCode.usage,
        message: "<query|id> is missing",
        hint: `\`palimpsest recall --all ${joinLines(session)}\` searches every session of the project for it.`,
      });
    const log = await openNamedLog(context, session);
    if (log.kind === "failure") return log;
    try {
      const request = { log, query: operands.words.join(" ").trim(), page, format };
      const outcome = await resolveRecall(log, request);
      if (outcome.kind === "failure") return outcome;
      return outcome.kind === "words"
        ? await show(context, { ...request, searched: outcome.searched })
        : await print(context, { ...request, expanded: outcome.expanded });
    } finally {
      await log.source.close();
    }
  },
});

interface AllInput extends Pick<RecallInput, "page" | "format"> {
  readonly words: readonly string[];
  readonly filters: WrittenFilters;
}

/** Over the index of the project. A word `session/id`, as hits begin with it, prints the original. */
async function recallAll(context: CommandContext, { words, filters, page, format }: AllInput): Promise<Outcome> {
  const parsed = parseFilters(filters);
  if ("kind" in parsed && parsed.kind === "failure") return parsed;
  const query = words.join(" ").trim();
  const opened = await openCaughtUpRecall(context, context.err);
  if (opened.kind === "failure") return opened;
  const { index } = opened;
  try {
    const original = query === "" ? undefined : await expandFound(index, query);
    if (original !== undefined) {
      const { bytes } = toRecalledText(query, original);
      return await printBytes(context, { kind: original.kind, id: query, bytes, page, format });
    }
    const searched = await index.search({ query, page, ...parsed });
    return await showHits(context, { query, page, format, searched });
  } finally {
    await index.close();
  }
}

/** More than any session has. */
const pagesMax = 10_000;

function parsePage(text: string | undefined): number | undefined | "none" {
  if (text === undefined) return undefined;
  const page = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return page >= 1 && page <= pagesMax ? page : "none";
}

interface RecallInput {
  readonly log: NamedLog;
  readonly query: string;
  readonly page: number | undefined;
  readonly format: "text" | "json";
}

interface SearchInput extends RecallInput {
  readonly searched: SearchOutcome;
}

async function show(context: CommandContext, { log, ...input }: SearchInput): Promise<Outcome> {
  const { searched } = input;
  const isEmpty = searched.kind === "found" && searched.total === 0;
  const wrong = isEmpty ? wrongFileFailure(log, await openLog(log, log)) : undefined;
  return wrong ?? (await showHits(context, input));
}

async function showHits(
  { out }: CommandContext,
  { query, page = 1, format, searched }: Omit<SearchInput, "log">,
): Promise<Outcome> {
  if (searched.kind === "no-words")
    return failure({
      code: exitCode.usage,
      message: query === "" ? "the query is empty" : `there is no word in ${query} to search for`,
      hint: "Letters, digits or an id: signs alone are not searched for.",
    });
  if (format === "json") {
    const { kind: _, ...found } = searched;
    await out.json({ query, ...found });
  } else if (searched.hits.length === 0 && searched.pages > 0) {
    return behindLastPage(page, searched.pages);
  } else {
    await out.write(hitsText(searched, { style: out.style, goesOn: (next) => `--page ${next} goes on` }));
  }
  return searched.hits.length === 0 ? exitCode.negative : exitCode.fine;
}

interface PrintInput extends RecallInput {
  readonly expanded: ExpandOutcome;
}

/** Control characters are made printable at a terminal; elsewhere the output is byte for byte. */
async function print(context: CommandContext, { log, query, expanded, ...input }: PrintInput): Promise<Outcome> {
  const original = originalOrFailure({ id: query, path: log.path, expanded });
  if (original.kind === "failure") return original;
  return await printBytes(context, { ...input, kind: original.kind, ...toRecalledText(query, original) });
}

interface BytesInput extends Pick<RecallInput, "page" | "format"> {
  readonly kind: string;
  readonly id: string;
  readonly bytes: Uint8Array;
}

async function printBytes({ out }: CommandContext, { kind, id, bytes, page, format }: BytesInput): Promise<Outcome> {
  if (page === undefined && format === "text" && !out.isTerminal) {
    await out.bytes(bytes);
    return exitCode.fine;
  }
  const whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const pages = Math.max(1, Math.ceil(whole.length / recallCharsDefault));
  if (page !== undefined && page > pages) return behindLastPage(page, pages);
  const text = page === undefined ? whole : pageText(whole, page);
  if (format === "json") await out.json({ kind, id, text, ...(page === undefined ? {} : { page, pages }) });
  else if (out.isTerminal) await out.write(text.endsWith("\n") ? text : `${text}\n`);
  else await out.bytes(new TextEncoder().encode(text));
  return exitCode.fine;
}

/** The pages joined are the whole text. */
const pageText = (text: string, page: number): string =>
  text.slice(safeCutIndex(text, (page - 1) * recallCharsDefault), safeCutIndex(text, page * recallCharsDefault));

const behindLastPage = (page: number, pages: number): Failure =>
  failure({ code: exitCode.negative, message: `there is no page ${page}: the last one is ${pages}` });
