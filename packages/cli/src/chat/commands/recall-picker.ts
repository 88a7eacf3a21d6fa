import type { RecallIndex, RecallPassage } from "palimpsest/internal/ports/recall-index";
import type { SearchHit, SearchOutcome } from "palimpsest/internal/ports/session-search";
import { entryTexts } from "palimpsest/internal/recall/entry-texts";
import { sessionId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { scanForward } from "palimpsest/internal/session/scan-lines";
import { openNamedLog } from "../../session/named-log.ts";
import type { ChatItem } from "../../tui/state/chat-item.ts";
import { type ItemDetail, loadItemDetail } from "../../tui/state/item-detail.ts";
import { itemsFromEntries } from "../../tui/state/restore-chat.ts";
import { clip, formatElapsed, joinLines, shortId } from "../../text/format.ts";
import type { Style } from "../../text/style.ts";
import { type ChatCommandContext, type ChatCommandOutcome, stay } from "../chat-command.ts";
import { neighbourChars, recalledCharsMax } from "../limits.ts";
import { print } from "./chat-lines.ts";

type Found = Extract<SearchOutcome, { kind: "found" }>;

/** Lets the user pick one of the hits. Undefined if they leave the list, or if there is nobody to pick. */
export async function pickHit({ ui, signal }: ChatCommandContext, { hits }: Found): Promise<SearchHit | undefined> {
  const choices = hits.map((hit, at) => ({
    value: String(at),
    label: [hit.kind, ageText(hit.at), hit.session?.title && clip(hit.session.title, titleCharsMax)]
      .filter((part) => part !== undefined && part !== "")
      .join(", "),
    description: joinLines(hit.snippet),
  }));
  const title = "Which place? Esc leaves the list in the chat.";
  const chosen = await ui.choose({ title, choices, search: "typed", verb: "open" }, signal);
  return chosen === undefined || signal.aborted ? undefined : hits[Number(chosen)];
}

const titleCharsMax = 60;

const ageText = (at: string | undefined): string | undefined =>
  at === undefined ? undefined : `${formatElapsed(Date.now() - Date.parse(at))} ago`;

interface OpenedHit {
  readonly hit: SearchHit;
  readonly index?: RecallIndex | undefined;
}

/** Opens the transcript at the place, or prints what is around it; of another session of ours, offers to go on there. */
export async function openHit(chat: ChatCommandContext, { hit, index }: OpenedHit): Promise<ChatCommandOutcome> {
  const { session } = hit;
  if ((await viewHit(chat, hit)) === "not-shown") await printAround(chat, { hit, index });
  const isOther = session !== undefined && session.source === "session" && session.id !== chat.agent.session.id;
  return isOther && !chat.signal.aborted ? await offerResume(chat, session.id) : stay;
}

/** Not shown: the session of another agent, a place that no item of a chat stands for, or no screen. */
async function viewHit(
  { agent, context, ui, signal }: ChatCommandContext,
  hit: SearchHit,
): Promise<"shown" | "not-shown"> {
  const { id, source } = hit.session ?? { id: agent.session.id, source: "session" };
  if (source !== "session") return "not-shown";
  const log = await openNamedLog(context, id);
  if (log.kind === "failure") return "not-shown";
  try {
    const { session } = log;
    if (session === undefined) return "not-shown";
    const entries: Entry[] = [];
    for await (const { logged } of scanForward(log.source)) for (const { entry } of logged) entries.push(entry);
    const items = itemsFromEntries(entries);
    const at = findHitItem(items, hit)?.id;
    if (at === undefined) return "not-shown";
    const detail = (item: ChatItem): Promise<ItemDetail> =>
      loadItemDetail(session.deps, { session: session.id, item }).catch(() => ({ kind: "nothing" }));
    return await ui.openTranscript({ items, at, detail }, signal);
  } finally {
    await log.source.close();
  }
}

/** A result stands at its call. An entry with several items is shown at the one of the hit's kind. */
function findHitItem(items: readonly ChatItem[], { id, kind }: Pick<SearchHit, "id" | "kind">): ChatItem | undefined {
  if (kind === "result") return items.find((item) => item.kind === "call" && item.call === id);
  const said = items.filter((item) => ("entry" in item ? item.entry === id : "entries" in item && holds(item, id)));
  return said.find((item) => item.kind === itemKindByText[kind]) ?? said[0];
}

const holds = ({ entries }: { readonly entries: readonly string[] }, id: string): boolean => entries.includes(id);

const itemKindByText: Partial<Record<SearchHit["kind"], ChatItem["kind"]>> = {
  user: "user",
  reply: "text",
  thinking: "thinking",
  call: "call",
};

async function printAround(chat: ChatCommandContext, { hit, index }: OpenedHit): Promise<void> {
  const { session } = hit;
  const passages =
    session === undefined || index === undefined
      ? passagesInSession(chat, hit)
      : await index.neighbours(session.place, { count: neighboursShown });
  const isHit = ({ id, place }: RecallPassage): boolean =>
    session === undefined ? id === hit.id : place === session.place;
  print(chat, (style) =>
    [
      style("bold", session === undefined ? "In this session" : `In session ${session.id}`),
      ...passages.map((passage) => passageText(style, { passage, isHit: isHit(passage) })),
      style(
        "dim",
        `/recall ${session === undefined ? "" : `--all ${placePrefix(session.id, hit.id)}`}${hit.id} shows the whole of it.`,
      ),
    ].join("\n"),
  );
}

const neighboursShown = 2;

/** A memory is its own session: its path says it all. */
const placePrefix = (session: string, id: string): string => (session === id ? "" : `${shortId(session)}/`);

function passageText(
  style: Style,
  { passage: { kind, at, text }, isHit }: { readonly passage: RecallPassage; readonly isHit: boolean },
): string {
  const head = [kind, at].filter((part) => part !== undefined).join("  ");
  const shown = isHit ? text.slice(0, recalledCharsMax) : clip(text, neighbourChars);
  return isHit ? `${style("bold", head)}\n${shown}` : `${style("dim", head)}\n${style("dim", shown)}`;
}

/** The texts of the entry and of those beside it, as far as they are in memory. */
function passagesInSession({ agent }: ChatCommandContext, hit: SearchHit): readonly RecallPassage[] {
  const { entries } = agent.session.fold.path;
  const textsOf = (at: number) => {
    const entry = entries[at];
    return entry === undefined
      ? []
      : entryTexts(entry).map(({ id, kind, text }) => ({ id, kind, at: entry.timestamp, text, place: at }));
  };
  const place = entries.findIndex((_, at) => textsOf(at).some(({ id, kind }) => id === hit.id && kind === hit.kind));
  if (place === -1) return [{ id: hit.id, kind: hit.kind, at: hit.at, text: hit.snippet, place: 0 }];
  return [place - 1, place, place + 1].flatMap(textsOf);
}

async function offerResume({ ui, signal }: ChatCommandContext, id: string): Promise<ChatCommandOutcome> {
  const choices = [
    { value: "stay", label: "Stay here" },
    { value: "resume", label: "Go on with that session" },
  ];
  const chosen = await ui.choose({ title: "That is in another session.", choices, search: "none" }, signal);
  return chosen === "resume" && !signal.aborted
    ? { kind: "open", session: { kind: "resume", id: sessionId(id) } }
    : stay;
}
