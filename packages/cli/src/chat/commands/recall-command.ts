import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import {
  originalOrFailure,
  hitsText,
  type RecallOutcome,
  resolveRecall,
  type RecallRequest,
  toRecalledText,
} from "../../session/resolve-recall.ts";
import { formatNumber, joinLines } from "../../text/format.ts";
import { type NamedLog, openNamedLog } from "../../session/named-log.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { recalledCharsMax } from "../limits.ts";
import { print, refuse, tell } from "./chat-lines.ts";

/** Searches everything that the session ever held, or prints what an id stands for. */
export const recallCommand: ChatCommand = async ({ rest }, chat) => {
  const log = await openNamedLog(chat.context, chat.agent.session.id);
  if (log.kind === "failure") {
    refuse(chat, log);
    return stay;
  }
  try {
    const request = parseRecallRequest(rest);
    showRecalled(chat, { log, query: request.query, outcome: await resolveRecall(log, request) });
  } finally {
    await log.source.close();
  }
  return stay;
};

/** `--page 2 words`, as on the command line; anything else is the query. */
function parseRecallRequest(rest: string): RecallRequest {
  const [, page, query] = /^--page\s+(\d{1,6})\s+(.+)$/s.exec(rest.trim()) ?? [];
  return query === undefined ? { query: rest } : { query, page: Math.max(1, Number(page)) };
}

function showRecalled(
  chat: ChatCommandContext,
  { log, query, outcome }: { readonly log: NamedLog; readonly query: string; readonly outcome: RecallOutcome },
): void {
  const { id } = chat.agent.session;
  if (outcome.kind === "words") {
    const { searched } = outcome;
    if (searched.kind === "no-words")
      return refuse(chat, { message: `there is no word in ${query} to search for`, hint: "Letters, digits or an id." });
    if (searched.total === 0)
      return tell(chat, "Nothing found. A part of a name finds the name; other words may do better.");
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
