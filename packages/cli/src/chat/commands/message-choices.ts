import { type RewindPoint, listRewindPoints } from "palimpsest/internal/session/undo";
import type { Session } from "palimpsest/internal/session/session";
import type { Block } from "palimpsest/internal/schema/block";
import type { EntryId, SessionId } from "palimpsest/internal/schema/brand";
import { textField as textIn } from "palimpsest/internal/schema/json";
import { estimateBlock } from "palimpsest/internal/tokens/estimate-block";
import type { Item } from "palimpsest/internal/transcript/item";
import type { Choice } from "../../tui/chat-ui.ts";
import { clip, formatNumber, quantity, formatElapsed } from "../../text/format.ts";
import { messageCharsMax } from "../limits.ts";
import type { SessionSummary } from "palimpsest/internal/ports/store";
import { formatBytes } from "palimpsest/internal/text/format-count";
import type { Model, ModelOverride } from "palimpsest/internal/schema/model";
import { findModel, knownModels } from "palimpsest/internal/tokens/known-models";

/** A shorter prefix is more likely a slip than a name. */
const messagePrefixCharsMin = 4;

/** Matches the whole id, else a unique prefix. */
export function findMessage(messages: readonly RewindPoint[], named: string): RewindPoint | undefined {
  const exact = messages.find(({ id }) => id === named);
  if (exact !== undefined || named.length < messagePrefixCharsMin) return exact;
  const matches = messages.filter(({ id }) => id.startsWith(named));
  return matches.length === 1 ? matches[0] : undefined;
}

/** The user's messages, newest first. */
export const messageChoices = (session: Session): readonly Choice[] =>
  listRewindPoints(session).map(({ id, text, at, state }) => ({
    value: id,
    label: clip(text, messageCharsMax),
    description: [at?.slice(0, 16).replace("T", " "), ...(state === "covered" ? ["summarised"] : [])].join("  "),
  }));

/** What is pinned in the view or can be, newest first: messages and results. */
export function pinChoices({ fold: { projection } }: Session): readonly Choice[] {
  const { items, pins } = projection;
  return items.toReversed().flatMap((item) => {
    const label = item.summary === true || item.attachment !== undefined ? undefined : itemLabel(item);
    return label === undefined ? [] : [{ value: item.entry, label, description: describeItem(item, pins) }];
  });
}

function itemLabel({ role, blocks }: Item): string | undefined {
  const text = blocks.flatMap((block) => blockText(block) ?? []).join(" ");
  if (text === "") return undefined;
  const who = blocks.some(({ type }) => type === "tool_result") ? "result" : role === "user" ? "you" : "agent";
  return `${who}: ${clip(text, messageCharsMax)}`;
}

function blockText(block: Block): string | undefined {
  if (block.type === "text") return block.text.trim() === "" ? undefined : block.text;
  if (block.type !== "tool_result") return undefined;
  const { content } = block;
  if (typeof content === "string") return content;
  return content?.flatMap((part) => textIn(part, "text") ?? []).join(" ");
}

function describeItem({ entry, blocks }: Item, pins: ReadonlySet<EntryId>): string {
  const tokens = blocks.reduce((sum, block) => sum + estimateBlock(block), 0);
  return `${pins.has(entry) ? "pinned, " : ""}about ${formatNumber(tokens)} tokens`;
}

interface SessionChoicesInput {
  /** Newest first. */
  readonly sessions: readonly SessionSummary[];
  /** The open session; absent if there is none. */
  readonly current?: SessionId;
  readonly nowMillis: number;
}

/** Sessions that can be resumed: those with at least one message. */
export const sessionChoices = ({ sessions, current, nowMillis }: SessionChoicesInput): readonly Choice[] =>
  sessions
    .filter(({ sessionId, isSidechain, messageCount }) => sessionId !== current && !isSidechain && messageCount !== 0)
    .map((session) => ({
      value: session.sessionId,
      label: sessionLabel(session),
      description: describeSession(session, nowMillis),
    }));

const sessionLabel = ({ summary, firstPrompt, sessionId }: SessionSummary): string =>
  clip(summary ?? firstPrompt, messageCharsMax) || sessionId;

function describeSession({ modified, messageCount, sizeBytes }: SessionSummary, nowMillis: number): string {
  const messages = messageCount === undefined ? [] : [quantity(messageCount, "message")];
  return [`${formatElapsed(nowMillis - Date.parse(modified))} ago`, ...messages, formatBytes(sizeBytes)].join(", ");
}

/** Models from the settings, then the built-in ones. */
export function modelChoices(overrides: readonly ModelOverride[]): readonly Choice[] {
  const ids = new Set([...overrides, ...knownModels].map(({ id }) => id));
  return [...ids].map((id) => ({ value: id, label: id, description: describeModel(findModel(id, overrides)) }));
}

function describeModel(model: Model | undefined): string {
  if (model === undefined) return "";
  const { windowTokens, prices } = model;
  return `${formatNumber(windowTokens)} tokens; $${prices.input} in, $${prices.output} out for a million`;
}
