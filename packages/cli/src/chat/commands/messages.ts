import { type SaidMessage, saidMessages } from "palimpsest/internal/session/rewind";
import type { Session } from "palimpsest/internal/session/session";
import type { Block } from "palimpsest/internal/schema/block";
import type { EntryId } from "palimpsest/internal/schema/brand";
import { text as textIn } from "palimpsest/internal/schema/json";
import { estimateBlock } from "palimpsest/internal/tokens/estimate";
import type { Item } from "palimpsest/internal/transcript/item";
import type { Choice } from "../../tui/chat-ui.ts";
import { clipped, humanCount } from "../../human.ts";
import { messageCharsMax } from "./limits.ts";

/** Shorter beginnings are more likely a slip than a name. */
const prefixCharsMin = 4;

/** By the whole id, else by a beginning that only one has. */
export function messageNamed(messages: readonly SaidMessage[], named: string): SaidMessage | undefined {
  const exact = messages.find(({ id }) => id === named);
  if (exact !== undefined || named.length < prefixCharsMin) return exact;
  const begun = messages.filter(({ id }) => id.startsWith(named));
  return begun.length === 1 ? begun[0] : undefined;
}

/** Messages of a person, newest first. */
export const messageChoices = (session: Session): readonly Choice[] =>
  saidMessages(session).map(({ id, text, at, state }) => ({
    value: id,
    label: clipped(text, messageCharsMax),
    description: [at?.slice(0, 16).replace("T", " "), ...(state === "covered" ? ["summarised"] : [])].join("  "),
  }));

/** What of the view can be pinned or is, newest first: what was said, and results. */
export function pinChoices({ fold: { projection } }: Session): readonly Choice[] {
  const { items, pins } = projection;
  return items.toReversed().flatMap((item) => {
    const label = item.summary === true || item.attachment !== undefined ? undefined : wordsOf(item);
    return label === undefined ? [] : [{ value: item.entry, label, description: aboutText(item, pins) }];
  });
}

function wordsOf({ role, blocks }: Item): string | undefined {
  const said = blocks.flatMap((block) => blockWords(block) ?? []).join(" ");
  if (said === "") return undefined;
  const who = blocks.some(({ type }) => type === "tool_result") ? "result" : role === "user" ? "you" : "agent";
  return `${who}: ${clipped(said, messageCharsMax)}`;
}

function blockWords(block: Block): string | undefined {
  if (block.type === "text") return block.text.trim() === "" ? undefined : block.text;
  if (block.type !== "tool_result") return undefined;
  const { content } = block;
  if (typeof content === "string") return content;
  return content?.flatMap((part) => textIn(part, "text") ?? []).join(" ");
}

function aboutText({ entry, blocks }: Item, pins: ReadonlySet<EntryId>): string {
  const tokens = blocks.reduce((sum, block) => sum + estimateBlock(block), 0);
  return `${pins.has(entry) ? "pinned, " : ""}about ${humanCount(tokens)} tokens`;
}
