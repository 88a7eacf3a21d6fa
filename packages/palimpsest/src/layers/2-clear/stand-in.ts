import type { ToolUseBlock } from "../../schema/block.ts";
import type { EntryId } from "../../schema/brand.ts";
import { field, isArray, type JsonObject } from "../../schema/json.ts";
import { plural } from "../../schema/plural.ts";
import { filePathOf } from "../../tokens/file-act.ts";
import type { Item } from "../../transcript/item.ts";
import { clipped } from "../1-offload/cut.ts";
import { standInArgumentChars, standInLinesMax, standInWordsChars } from "./limits.ts";

export interface StandInInput {
  /** What it stands for, in the order of the view. */
  readonly items: readonly Item[];
  readonly rounds: number;
  readonly from: EntryId;
  readonly to: EntryId;
}

/**
 * What the model is shown of collapsed rounds: how many, which tools, what each call was about and under which id its
 * result comes back, the last words said. The same items give the same bytes.
 */
export function standInOf({ items, rounds, from, to }: StandInInput): string {
  const calls = items.flatMap(({ blocks }) => blocks.filter((block) => block.type === "tool_use"));
  const tools = calls.length === 0 ? "without a call" : toolsOf(calls);
  const left = calls.length - standInLinesMax;
  const words = lastWords(items);
  const lines = [
    `${rounds} earlier ${plural(rounds, "round")} of yours, collapsed: ${tools}.`,
    ...calls.slice(0, standInLinesMax).map((call) => lineOf(call)),
    ...(left > 0 ? [`- … ${left} more ${plural(left, "call")}`] : []),
    ...(words === undefined ? [] : [`You ended with: ${words}`]),
    `All of it is kept: recall a call's id for its result, ${from} for the first entry, ${to} for the last.`,
  ];
  return unclosed(lines.join("\n").toWellFormed());
}

/** Most used first; of the same count, in the order of their first call. */
function toolsOf(calls: readonly ToolUseBlock[]): string {
  const callsByName = [...Map.groupBy(calls, (call) => oneLine(call.name))].toSorted(
    ([, one], [, other]) => other.length - one.length,
  );
  const named = callsByName.slice(0, standInLinesMax).map(([name, of]) => `${name} ×${of.length}`);
  const left = callsByName.length - named.length;
  return [...named, ...(left > 0 ? [`${left} more ${plural(left, "tool")}`] : [])].join(", ");
}

function lineOf(call: ToolUseBlock): string {
  const argument = oneLine(mainArgument(call));
  return `- ${oneLine(call.name)} ${call.id}${argument === "" ? "" : `: ${argument}`}`;
}

/** Keys of the argument that says what a call is about, the most telling first. */
const mainKeys = ["command", "cmd", "pattern", "query", "url", "description", "prompt"] as const;

/** A path or a command, else whatever text comes first. */
function mainArgument(call: ToolUseBlock): string {
  const command = mainKeys.map((key) => textAt(call.input, key)).find((value) => value !== undefined);
  return filePathOf(call) ?? command ?? Object.values(call.input).find((value) => typeof value === "string") ?? "";
}

/** Commands also come as lists of words. */
function textAt(input: JsonObject, key: string): string | undefined {
  const value = field(input, key);
  if (typeof value === "string") return value;
  return isArray(value) && value.every((part) => typeof part === "string") ? value.join(" ") : undefined;
}

function lastWords(items: readonly Item[]): string | undefined {
  const said = items
    .filter(({ role }) => role === "assistant")
    .flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === "text" ? [block.text.trim()] : [])))
    .findLast((text) => text !== "");
  return said === undefined ? undefined : short(said, standInWordsChars);
}

const oneLine = (text: string): string => short(text, standInArgumentChars);

function short(text: string, charsMax: number): string {
  const line = clipped(text, 2 * charsMax)
    .replaceAll(/\s+/g, " ")
    .trim();
  const cut = clipped(line, charsMax);
  return cut.length < line.length || 2 * charsMax < text.length ? `${cut.trimEnd()}…` : cut;
}

/** What was said or called must not end the tag that stands around it. */
const unclosed = (shown: string): string => shown.replaceAll("</system-reminder", String.raw`<\/system-reminder`);
