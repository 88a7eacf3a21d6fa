import {
  type Message,
  type TextBlock,
  type Block,
  isMediaType,
  type ToolResultBlock,
  compactionBlockText,
} from "../../schema/block.ts";
import { isThinking } from "../../transcript/to-wire-block.ts";
import { clipText, longestFitting } from "../clip-text.ts";
import { resultText } from "../2-clear/result-text.ts";
import { pieceCharsMin, charsPerTokenMax, droppedShareUnknown } from "./limits.ts";

interface PlainRequestInput {
  /** As returned by `toPlainMessages`. */
  readonly messages: readonly Message[];
  /** The task for the model: the last block, never cut. */
  readonly prompt: string;
  readonly tokensMax: number;
  readonly count: (message: Message) => number;
}

type PlainRequest =
  | {
      readonly kind: "fits";
      readonly messages: readonly Message[];
      readonly droppedGroups: number;
      /** `shortened`: not even one group fitted, so it was cut. */
      readonly text: "whole" | "shortened";
    }
  /** There is no room beside the prompt. */
  | { readonly kind: "no-room" };

/**
 * The request of the plain call, within the summariser's window: without its oldest groups if it is too long, and with
 * the last group cut if that alone is too long.
 */
export function plainRequest({ messages, prompt, tokensMax, count }: PlainRequestInput): PlainRequest {
  const promptBlock: TextBlock = { type: "text", text: prompt };
  let request = withPrompt(beginningWithUser(messages), promptBlock);
  let droppedGroups = 0;
  for (;;) {
    const over = sumTokens(request, count) - tokensMax;
    if (over <= 0) return { kind: "fits", messages: request, droppedGroups, text: "whole" };
    const dropped = dropOldest({ messages: request, overTokens: over, count });
    if (dropped.kind === "nothing-left") break;
    request = dropped.messages;
    droppedGroups += dropped.groups;
  }
  const cut = shortenMessages({ messages: withoutPrompt(request), prompt: promptBlock, tokensMax, count });
  return cut === undefined ? { kind: "no-room" } : { kind: "fits", messages: [cut], droppedGroups, text: "shortened" };
}

export const sumTokens = (messages: readonly Message[], count: (message: Message) => number): number =>
  messages.reduce((sum, message) => sum + count(message), 0);

/** A part of a conversation may begin with a reply, but a request must not. */
const continuation: Message = { role: "user", content: [{ type: "text", text: "[The conversation goes on here.]" }] };

const beginningWithUser = (messages: readonly Message[]): readonly Message[] =>
  messages[0]?.role === "assistant" ? [continuation, ...messages] : messages;

function withPrompt(messages: readonly Message[], promptBlock: TextBlock): readonly Message[] {
  const last = messages.at(-1);
  return last?.role === "user"
    ? [...messages.slice(0, -1), { ...last, content: [...last.content, promptBlock] }]
    : [...messages, { role: "user", content: [promptBlock] }];
}

const withoutPrompt = (request: readonly Message[]): readonly Message[] =>
  request.map((message, at) =>
    at === request.length - 1 ? { ...message, content: message.content.slice(0, -1) } : message,
  );

/**
 * Messages as the plain call sends them: images and documents as text, also inside results, and without thinking, which
 * is signed for the conversation it comes from. Unchanged messages stay the same objects.
 */
export function toPlainMessages(messages: readonly Message[]): readonly Message[] {
  const plain: Message[] = [];
  for (const message of messages) {
    const content = plainContent(message.content);
    if (content.length === 0) continue;
    const last = plain.at(-1);
    // A reply with nothing but thinking disappears, so the user messages around it are merged.
    if (last?.role === message.role) plain[plain.length - 1] = { ...last, content: [...last.content, ...content] };
    else plain.push(content === message.content ? message : { ...message, content });
  }
  return plain;
}

function plainContent(content: readonly Block[]): readonly Block[] {
  const plain = content.flatMap((block) => plainBlock(block));
  return plain.length === content.length && plain.every((block, at) => block === content[at]) ? content : plain;
}

function plainBlock(block: Block): readonly Block[] {
  if (isThinking(block) || block.type === "unknown") return [];
  if (isMediaType(block.type)) return [{ type: "text", text: `[${block.type}]` }];
  // It is signed for the conversation that it begins.
  if (block.type === "compaction") return [{ type: "text", text: compactionBlockText(block) ?? "[compaction]" }];
  return [block.type === "tool_result" ? plainResult(block) : block];
}

function plainResult(result: ToolResultBlock): ToolResultBlock {
  const { content } = result;
  if (content === undefined || typeof content === "string") return result;
  if (!content.some(({ type }) => isMediaType(type))) return result;
  const plain = content.map((part) => (isMediaType(part["type"]) ? { type: "text", text: `[${part["type"]}]` } : part));
  return { ...result, content: plain };
}

interface ShortenInput {
  /** Without the prompt. */
  readonly messages: readonly Message[];
  readonly prompt: TextBlock;
  readonly tokensMax: number;
  readonly count: (message: Message) => number;
}

/**
 * Messages that are too long for a window as one message that fits it: as text, with every piece cut in its middle to
 * the same length; if there are too many pieces for that, the whole is cut in its middle. Undefined if nothing fits
 * beside the prompt. Counts texts a few dozen times, and no more of them than could fit.
 */
function shortenMessages({ messages, prompt, tokensMax, count }: ShortenInput): Message | undefined {
  const messageWith = (text: string): Message => ({ role: "user", content: [{ type: "text", text }, prompt] });
  const fits = (text: string): boolean => count(messageWith(text)) <= tokensMax;
  const pieces = messages.flatMap(({ role, content }) => content.map((block) => blockPiece(block, role)));
  const textWith = (charsMax: number): string =>
    [shortenedIntro, ...pieces.map((piece) => cutPiece(piece, charsMax))].join("\n\n");
  const lengthMax = Math.min(tokensMax * charsPerTokenMax, Math.max(0, ...pieces.map(({ text }) => text.length)));
  const each = longestFitting(lengthMax, (charsMax) => fits(textWith(charsMax)));
  if (each >= Math.min(pieceCharsMin, lengthMax)) return messageWith(textWith(each));
  const whole: Piece = { name: "", text: textWith(pieceCharsMin), of: "the conversation" };
  const all = longestFitting(Math.min(tokensMax * charsPerTokenMax, whole.text.length), (charsMax) =>
    fits(cutPiece(whole, charsMax)),
  );
  return all === 0 ? undefined : messageWith(cutPiece(whole, all));
}

const shortenedIntro =
  "[What follows is the newest part of the conversation, told as text and shortened so that this request fits the window.]";

interface Piece {
  /** Precedes the text and is never cut. */
  readonly name: string;
  readonly text: string;
  /** What the marker calls the text if it is cut. */
  readonly of: string;
}

function blockPiece(block: Block, role: Message["role"]): Piece {
  switch (block.type) {
    case "text":
      return { name: `${role}: `, text: block.text, of: "the text" };
    case "tool_use":
      return { name: `call of ${block.name} (${block.id}): `, text: JSON.stringify(block.input), of: block.id };
    case "tool_result":
      return { name: `result of ${block.tool_use_id}: `, text: resultText(block), of: block.tool_use_id };
    default:
      return { name: "", text: `[${block.type}]`, of: "the text" };
  }
}

/** Keeps both ends: how it began and how it ended. */
function cutPiece({ name, text, of }: Piece, charsMax: number): string {
  if (text.length <= charsMax) return name + text;
  const head = clipText(text, Math.ceil(charsMax / 2));
  const tail = text.slice(text.length - Math.floor(charsMax / 2));
  const left = text.length - head.length - tail.length;
  return `${name}${head}\n[… ${left} characters of ${of} are left out …]\n${tail}`.toWellFormed();
}

/** The first line if rounds were left out of a summary call. The next try recognises it. */
export const droppedLine = "[Earlier rounds are left out here, so that this request fits the window.]";

interface DropInput {
  /** Messages of a valid request: roles alternate, and results are in the message behind their calls. */
  readonly messages: readonly Message[];
  /** How many tokens the request was too long. */
  readonly overTokens: number | "unknown";
  readonly count: (message: Message) => number;
}

type DropOutcome =
  | { readonly kind: "dropped"; readonly messages: readonly Message[]; readonly groups: number }
  /** There is only one group, and it holds the prompt. */
  | { readonly kind: "nothing-left" };

/**
 * The request for a summary without its oldest groups, so many that the excess is covered. At least one group is
 * dropped and the last one stays; what stays is valid and begins with the user.
 */
export function dropOldest({ messages, overTokens, count }: DropInput): DropOutcome {
  const groups = groupsByRound(withoutMarker(messages));
  if (groups.length < 2) return { kind: "nothing-left" };
  const wanted = overTokens === "unknown" ? Math.floor(groups.length * droppedShareUnknown) : covering(overTokens);
  const dropped = Math.min(Math.max(1, wanted), groups.length - 1);
  return { kind: "dropped", messages: [droppedMarker, ...groups.slice(dropped).flat()], groups: dropped };

  function covering(gap: number): number {
    let sum = 0;
    const last = groups.findIndex((group) => {
      sum += group.reduce((total, message) => total + count(message), 0);
      return sum >= gap;
    });
    return last === -1 ? groups.length : last + 1;
  }
}

/**
 * Groups a reply with the results of its calls and whatever else the user said then. The first group is what comes
 * before any reply.
 */
export function groupsByRound(messages: readonly Message[]): readonly (readonly Message[])[] {
  const groups: Message[][] = [];
  for (const [at, message] of messages.entries()) {
    const isNext = message.role === "assistant" && messages[at - 1]?.role !== "assistant";
    if (isNext || groups.length === 0) groups.push([message]);
    else groups.at(-1)?.push(message);
  }
  return groups;
}

/** Every group but the first begins with a reply, but a request must not. */
const droppedMarker: Message = { role: "user", content: [{ type: "text", text: droppedLine }] };

function withoutMarker(messages: readonly Message[]): readonly Message[] {
  const [first, ...rest] = messages;
  return first !== undefined && isMarker(first) ? rest : messages;
}

const isMarker = ({ role, content }: Message): boolean =>
  role === "user" &&
  content.length === 1 &&
  content.every((block) => block.type === "text" && block.text === droppedLine);

/** Sizes from a provider's refusal: the window and what was used of it. */
interface ReportedSizes {
  readonly limitTokens?: number;
  readonly usedTokens?: number;
}

export const tokensOver = ({ limitTokens, usedTokens }: ReportedSizes): number | "unknown" =>
  limitTokens === undefined || usedTokens === undefined || usedTokens <= limitTokens
    ? "unknown"
    : usedTokens - limitTokens;
