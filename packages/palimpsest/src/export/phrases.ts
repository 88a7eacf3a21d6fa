import type {
  BoundaryPart,
  Branch,
  EditPart,
  MediaBlock,
  MessagePart,
  ReceiptTotals,
  ResultBlock,
  Sidechain,
} from "./export-document.ts";
import { formatBreakEven } from "../text/format-count.ts";

/** This file holds the texts that Markdown and HTML share. */
export const speaker = { user: "User", assistant: "Assistant", engine: "Engine" } as const satisfies Record<
  MessagePart["who"],
  string
>;

const formatAmount = (value: number): string => value.toLocaleString("en-US");
const formatCount = (value: number, noun: string): string => `${formatAmount(value)} ${noun}${value === 1 ? "" : "s"}`;

/** For example `2026-01-01 12:00:00`, in UTC as in the log. */
export const formatTime = (at: string): string => at.slice(0, 19).replace("T", " ");

export function formatReceipt({ cause, tokensBefore, tokensAfter, entries, breakEvenRounds }: ReceiptTotals): string {
  const tokens =
    tokensBefore === undefined || tokensAfter === undefined
      ? []
      : [`${formatAmount(tokensBefore)} → ${formatAmount(tokensAfter)} tokens (estimated)`];
  const classes =
    entries.length === 0 ? [] : [entries.map(([name, count]) => `${formatAmount(count)} ${name}`).join(", ")];
  const rounds = breakEvenRounds === undefined ? [] : [formatBreakEven(breakEvenRounds)];
  return ["receipt", ...(cause === undefined ? [] : [`cause ${cause}`]), ...tokens, ...classes, ...rounds].join(" · ");
}

export const formatEdit = ({ name, what, state }: EditPart): string =>
  `Edit: ${name}${what === "" ? "" : ` — ${what}`}${state === "undone" ? " (undone)" : ""}`;

export const formatBoundary = ({ what, state }: BoundaryPart): string =>
  `Conversation compacted${what === "" ? "" : ` — ${what}`}${state === "undone" ? " (undone)" : ""}`;

export function formatResult({ isError, content }: ResultBlock): string {
  const characters = content.reduce((sum, part) => sum + (part.kind === "text" ? part.text.length : 0), 0);
  const lines = content.reduce((sum, part) => sum + (part.kind === "text" ? part.text.split("\n").length : 0), 0);
  return `${isError ? "Error" : "Result"}, ${formatCount(lines, "line")}, ${formatCount(characters, "character")}`;
}

export const formatSidechain = ({ name, parts }: Sidechain): string =>
  `Sub-agent ${name}, ${formatCount(parts.length, "part")}`;

export const formatBranch = ({ from, parts }: Branch): string =>
  `A branch from ${from}, ${formatCount(parts.length, "part")}`;

export const formatMedia = ({ name, mediaType, bytes }: MediaBlock): string =>
  `${name}: ${mediaType}${bytes === undefined ? "" : `, ${formatAmount(bytes)} bytes`}`;

/** The one-line heading for messages that the user did not type, such as a client's commands, their output and reminders; undefined for other messages. */
export function formatEngineMessage({ who, blocks }: MessagePart): string | undefined {
  if (who !== "engine" || blocks.some((block) => block.kind !== "text")) return undefined;
  return `Engine: ${firstText(blocks)}`;
}

const firstCharsMax = 100;

export function firstText(blocks: MessagePart["blocks"]): string {
  const first = blocks.find((block) => block.kind === "text");
  const text = (first?.text ?? "…").replaceAll(/\s+/g, " ").trim();
  const characters = Array.from(text.slice(0, 2 * firstCharsMax));
  return characters.length > firstCharsMax ? `${characters.slice(0, firstCharsMax).join("")}…` : text;
}
