import type { ExpandOutcome } from "palimpsest/internal/session/expand";
import { openLog } from "palimpsest/internal/session/open-log";
import type { SearchOutcome } from "palimpsest/internal/ports/session-search";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { recallCharsDefault } from "../tool/limits.ts";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { originalOrFailure, hitsText, resolveRecall, toRecalledText } from "../session/resolve-recall.ts";
import { formatNumber } from "../text/format.ts";
import { type NamedLog, openNamedLog, wrongFileFailure } from "../session/named-log.ts";
import { sessionOperand } from "../program/parse-arguments.ts";

export const recallCommand = command({
  name: "recall",
  summary: "search everything a session ever held, or print the original behind an id",
  operands: {
    session: sessionOperand,
    words: { shown: "query|id", summary: "words to search for, or an id as `expand` takes it", takes: "some" },
  },
  options: {
    page: {
      type: "string",
      shown: "number",
      summary: `from 1: ten hits a page, or for an id ${formatNumber(recallCharsDefault)} characters a page`,
    },
  },
  json: "query, hits, page, pages, total, shown; of an id: kind, id, text, and with --page also page, pages",
  details: [
    'A hit has any of the words, best first; "words in quotation marks" match only as a phrase (quote them for your shell too: \'"as it stands"\'). Case does not matter, and a part of a name finds the name: limit finds retryLimit.',
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
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const request = { log, query: operands.words.join(" ").trim(), page, format };
      const outcome = await resolveRecall(log, request);
      return outcome.kind === "words"
        ? await show(context, { ...request, searched: outcome.searched })
        : await print(context, { ...request, expanded: outcome.expanded });
    } finally {
      await log.source.close();
    }
  },
});

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

async function show(
  { out }: CommandContext,
  { log, query, page = 1, format, searched }: SearchInput,
): Promise<Outcome> {
  if (searched.kind === "no-words")
    return failure({
      code: exitCode.usage,
      message: query === "" ? "the query is empty" : `there is no word in ${query} to search for`,
      hint: "Letters, digits or an id: signs alone are not searched for.",
    });
  const wrong = searched.total === 0 ? wrongFileFailure(log, await openLog(log, log)) : undefined;
  if (wrong !== undefined) return wrong;
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
async function print({ out }: CommandContext, { log, query, page, expanded, format }: PrintInput): Promise<Outcome> {
  const original = originalOrFailure({ id: query, path: log.path, expanded });
  if (original.kind === "failure") return original;
  const { kind } = original;
  const { id, bytes } = toRecalledText(query, original);
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
