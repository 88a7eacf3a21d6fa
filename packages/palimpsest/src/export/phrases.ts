import type {
  BoundaryPart,
  Branch,
  EditPart,
  MediaBlock,
  MessagePart,
  ReceiptTotals,
  ResultBlock,
  Sidechain,
} from "./document.ts";

/** Words that Markdown and HTML share. */
export const speaker = { user: "User", assistant: "Assistant", engine: "Engine" } as const satisfies Record<
  MessagePart["who"],
  string
>;

const amount = (value: number): string => value.toLocaleString("en-US");
const counted = (value: number, one: string): string => `${amount(value)} ${one}${value === 1 ? "" : "s"}`;

/** `2026-01-01 12:00:00`, as the log has it (UTC). */
export const timeText = (at: string): string => at.slice(0, 19).replace("T", " ");

export function receiptWords({ cause, tokensBefore, tokensAfter, entries, breakEvenRounds }: ReceiptTotals): string {
  const tokens =
    tokensBefore === undefined || tokensAfter === undefined
      ? []
      : [`${amount(tokensBefore)} → ${amount(tokensAfter)} tokens (estimated)`];
  const classes = entries.length === 0 ? [] : [entries.map(([name, count]) => `${amount(count)} ${name}`).join(", ")];
  const rounds =
    breakEvenRounds === undefined
      ? []
      : [breakEvenRounds === 0 ? "pays at once" : `pays after ${counted(breakEvenRounds, "round")}`];
  return ["receipt", ...(cause === undefined ? [] : [`cause ${cause}`]), ...tokens, ...classes, ...rounds].join(" · ");
}

export const editWords = ({ name, what, state }: EditPart): string =>
  `Edit: ${name}${what === "" ? "" : ` — ${what}`}${state === "undone" ? " (undone)" : ""}`;

export const boundaryWords = ({ what, state }: BoundaryPart): string =>
  `Conversation compacted${what === "" ? "" : ` — ${what}`}${state === "undone" ? " (undone)" : ""}`;

export function resultWords({ isError, content }: ResultBlock): string {
  const characters = content.reduce((sum, part) => sum + (part.kind === "text" ? part.text.length : 0), 0);
  const lines = content.reduce((sum, part) => sum + (part.kind === "text" ? part.text.split("\n").length : 0), 0);
  return `${isError ? "Error" : "Result"}, ${counted(lines, "line")}, ${counted(characters, "character")}`;
}

export const sidechainWords = ({ name, parts }: Sidechain): string =>
  `Sub-agent ${name}, ${counted(parts.length, "part")}`;

export const branchWords = ({ from, parts }: Branch): string =>
  `A branch from ${from}, ${counted(parts.length, "part")}`;

export const mediaWords = ({ name, mediaType, bytes }: MediaBlock): string =>
  `${name}: ${mediaType}${bytes === undefined ? "" : `, ${amount(bytes)} bytes`}`;

/** What nobody typed and nobody misses: commands of a client and their output, reminders. Told in one line, folded. */
export function engineWords({ who, blocks }: MessagePart): string | undefined {
  if (who !== "engine" || blocks.some((block) => block.kind !== "text")) return undefined;
  return `Engine: ${firstWords(blocks)}`;
}

const firstCharsMax = 100;

export function firstWords(blocks: MessagePart["blocks"]): string {
  const first = blocks.find((block) => block.kind === "text");
  const words = (first?.text ?? "…").replaceAll(/\s+/g, " ").trim();
  const characters = Array.from(words.slice(0, 2 * firstCharsMax));
  return characters.length > firstCharsMax ? `${characters.slice(0, firstCharsMax).join("")}…` : words;
}
