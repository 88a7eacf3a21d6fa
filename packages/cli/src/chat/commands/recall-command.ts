import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import {
  originalOrFailure,
  hitsText,
  type RecallOutcome,
  resolveRecall,
  type RecallRequest,
  toRecalledText,
} from "../../session/resolve-recall.ts";
import { expandFound, openCaughtUpRecall } from "../../session/recall-all.ts";
import type { Failure } from "../../program/failure.ts";
import { formatNumber, joinLines } from "../../text/format.ts";
import { type NamedLog, openNamedLog } from "../../session/named-log.ts";
import { type ChatCommandContext, type ChatCommand, type ChatCommandOutcome, stay } from "../chat-command.ts";
import { recalledCharsMax } from "../limits.ts";
import { print, refuse, tell } from "./chat-lines.ts";
import { openHit, pickHit } from "./recall-picker.ts";

/** Searches everything that the session ever held, or prints what an id stands for. */
export const recallCommand: ChatCommand = async ({ rest }, chat) => {
  const [, everywhere] = /^--all\s+(.+)$/s.exec(rest.trim()) ?? [];
  if (everywhere !== undefined) return await recallEverywhere(chat, parseRecallRequest(everywhere));
  const log = await openNamedLog(chat.context, chat.agent.session.id);
  if (log.kind === "failure") {
    refuse(chat, log);
    return stay;
  }
  try {
    const request = parseRecallRequest(rest);
    const outcome = await resolveRecall(log, request);
    if (outcome.kind === "failure") {
      refuse(chat, outcome);
      return stay;
    }
    const hit =
      outcome.kind === "words" && outcome.searched.kind === "found" && outcome.searched.total > 0
        ? await pickHit(chat, outcome.searched)
        : undefined;
    if (hit !== undefined) return await openHit(chat, { hit });
    showRecalled(chat, { log, query: request.query, outcome });
  } finally {
    await log.source.close();
  }
  return stay;
};

/** All sessions of the project, as `palimpsest recall --all` searches them. */
async function recallEverywhere(chat: ChatCommandContext, { query, page }: RecallRequest): Promise<ChatCommandOutcome> {
  const opened = await openCaughtUpRecall(chat.context);
  if (opened.kind === "failure") {
    refuse(chat, opened);
    return stay;
  }
  const { index } = opened;
  try {
    const original = await expandFound(index, query.trim());
    if (original !== undefined) {
      const whole = new TextDecoder().decode(toRecalledText(query, original).bytes);
      const text = whole.slice(0, safeCutIndex(whole, recalledCharsMax));
      const more = `… ${formatNumber(whole.length - text.length)} more characters: palimpsest recall --all ${query}`;
      print(chat, (style) => (text.length === whole.length ? text : `${text}\n${style("dim", more)}`));
      return stay;
    }
    const searched = await index.search({ query, page });
    if (searched.kind === "no-words")
      refuse(chat, { message: `there is no word in ${query} to search for`, hint: "Letters, digits or an id." });
    else if (searched.total === 0) tell(chat, "Nothing found in any session of this project.");
    if (searched.kind === "no-words" || searched.total === 0) return stay;
    const hit = await pickHit(chat, searched);
    if (hit !== undefined) return await openHit(chat, { hit, index });
    const goesOn = (next: number): string => `/recall --all --page ${next} ${joinLines(query)} goes on`;
    print(
      chat,
      (style) => `${hitsText(searched, { style, goesOn })}/recall --all <session/id> shows the whole of one.`,
    );
    return stay;
  } finally {
    await index.close();
  }
}

/** `--page 2 words`, as on the command line; anything else is the query. */
function parseRecallRequest(rest: string): RecallRequest {
  const [, page, query] = /^--page\s+(\d{1,6})\s+(.+)$/s.exec(rest.trim()) ?? [];
  return query === undefined ? { query: rest } : { query, page: Math.max(1, Number(page)) };
}

function showRecalled(
  chat: ChatCommandContext,
  {
    log,
    query,
    outcome,
  }: { readonly log: NamedLog; readonly query: string; readonly outcome: Exclude<RecallOutcome, Failure> },
): void {
  const { id } = chat.agent.session;
  if (outcome.kind === "words") {
    const { searched } = outcome;
    if (searched.kind === "no-words")
      return refuse(chat, { message: `there is no word in ${query} to search for`, hint: "Letters, digits or an id." });
    if (searched.total === 0)
      return tell(
        chat,
        "Nothing found in this session. A part of a name finds the name; /recall --all searches the project's other sessions too.",
      );
    const goesOn = (page: number): string => `more words narrow it; /recall --page ${page} ${joinLines(query)} goes on`;
    print(chat, (style) => `${hitsText(searched, { style, goesOn })}/recall <id> shows the whole of one.`);
    return;
  }
  const original = originalOrFailure({ id: query, path: log.path, expanded: outcome.expanded });
  if (original.kind === "failure")
    return refuse(chat, { message: original.message, hint: "/recall <words> searches." });
  const recalled = toRecalledText(query, original);
  const whole = new TextDecoder().decode(recalled.bytes);
  const text = whole.slice(0, safeCutIndex(whole, recalledCharsMax));
  const rest = whole.length - text.length;
  const more = `… ${formatNumber(rest)} more characters: palimpsest recall ${id} ${recalled.id}`;
  print(chat, (style) => (rest === 0 ? text : `${text}\n${style("dim", more)}`));
}
