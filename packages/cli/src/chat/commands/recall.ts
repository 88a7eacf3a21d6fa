import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
import { originalOf } from "../../expanded.ts";
import { humanCount, oneLine } from "../../human.ts";
import { type NamedLog, openNamedLog } from "../../named-log.ts";
import { hitsText } from "../../recall-text.ts";
import { type Meant, meantBy, type RecallAsk, recalledText } from "../../recalling.ts";
import type { ChatCommandContext } from "../chat-command.ts";
import { recalledCharsMax } from "./limits.ts";
import { print } from "./lines.ts";
import { refuse, tell } from "./notices.ts";
import { type ChatCommand, stay } from "./command.ts";

/** Searches everything that the session ever held, or prints what an id stands for. */
export const recallCommand: ChatCommand = async ({ rest }, chat) => {
  const log = await openNamedLog(chat.context, chat.agent.session.id);
  if (log.kind === "failure") {
    refuse(chat, log);
    return stay;
  }
  try {
    const ask = askIn(rest);
    shown(chat, { log, query: ask.query, meant: await meantBy(log, ask) });
  } finally {
    await log.source.close();
  }
  return stay;
};

/** `--page 2 words`, as on the command line; anything else is what is looked for. */
function askIn(rest: string): RecallAsk {
  const [, page, query] = /^--page\s+(\d{1,6})\s+(.+)$/s.exec(rest.trim()) ?? [];
  return query === undefined ? { query: rest } : { query, page: Math.max(1, Number(page)) };
}

interface Recalled {
  readonly log: NamedLog;
  readonly query: string;
  readonly meant: Meant;
}

function shown(chat: ChatCommandContext, { log, query, meant }: Recalled): void {
  const { id } = chat.agent.session;
  if (meant.kind === "words") {
    const { searched } = meant;
    if (searched.kind === "no-words")
      return refuse(chat, { message: `there is no word in ${query} to search for`, hint: "Letters, digits or an id." });
    if (searched.total === 0)
      return tell(chat, "Nothing found. A part of a name finds the name; other words may do better.");
    const goesOn = (page: number): string => `more words narrow it; /recall --page ${page} ${oneLine(query)} goes on`;
    print(chat, (style) => `${hitsText(searched, { style, goesOn })}/recall <id> shows the whole of one.`);
    return;
  }
  const original = originalOf({ id: query, path: log.path, expanded: meant.expanded });
  if (original.kind === "failure")
    return refuse(chat, { message: original.message, hint: "/recall <words> searches." });
  const recalled = recalledText(query, original);
  const whole = new TextDecoder().decode(recalled.bytes);
  const text = whole.slice(0, wholeCharacter(whole, recalledCharsMax));
  const rest = whole.length - text.length;
  const more = `… ${humanCount(rest)} more characters: palimpsest recall ${id} ${recalled.id}`;
  print(chat, (style) => (rest === 0 ? text : `${text}\n${style("dim", more)}`));
}
