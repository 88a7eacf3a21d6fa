import type { Block, Message } from "../../schema/block.ts";
import type { Json } from "../../schema/json.ts";
import { escapeRegExp } from "../../text/fill-template.ts";
import { toPrintable } from "../../text/to-printable.ts";
import { callFilePath } from "../../tokens/tool-kind.ts";
import { newestMessagesMax, progressCharsMax, progressWordsMax, progressWordsMin } from "./limits.ts";

/**
 * A line says what an agent does now: a verb in -ing, then what it is done to, with a file or function of its newest
 * messages. Everything else is dropped, and the line before it stays.
 */
export type ProgressVerdict =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "dropped"; readonly why: DropReason };

/** `no-name`: it names no file or function, or one that is in none of the newest messages. */
export type DropReason =
  | "empty"
  | "several-lines"
  | "unprintable"
  | "too-long"
  | "too-few-words"
  | "too-many-words"
  | "not-present"
  | "past-tense"
  | "no-name";

/** `messages`: of the agent; only the newest count. */
export function judgeProgress(answer: string, messages: readonly Message[]): ProgressVerdict {
  const text = bareLine(answer);
  const why = findFault(text, messages);
  return why === undefined ? { kind: "line", text } : { kind: "dropped", why };
}

/** Without quotation marks around it and the full stop that models like to add. */
const bareLine = (answer: string): string =>
  answer
    .trim()
    .replace(/^["'“`*]+/, "")
    .replace(/[."'”`*…]+$/, "")
    .trim();

function findFault(text: string, messages: readonly Message[]): DropReason | undefined {
  if (text === "") return "empty";
  if (/[\n\r\u0085\u2028\u2029]/.test(text)) return "several-lines";
  if (toPrintable(text) !== text || text.includes("\t")) return "unprintable";
  if (text.length > progressCharsMax) return "too-long";
  const words = text.split(/\s+/);
  if (words.length < progressWordsMin) return "too-few-words";
  if (words.length > progressWordsMax) return "too-many-words";
  const [first = "", ...others] = words.map((word) => word.toLowerCase().replace(/[,;:]$/, ""));
  if (first === "having") return "past-tense";
  if (!/^[a-z][a-z-]+ing$/.test(first) || notVerbs.has(first)) return isPast(first) ? "past-tense" : "not-present";
  if (isAnyFinitePast(others)) return "past-tense";
  return words.slice(1).some((word) => isKnownName(word, messages.slice(-newestMessagesMax))) ? undefined : "no-name";
}

/** Words in -ing that no activity begins with. */
const notVerbs: ReadonlySet<string> = new Set(
  "nothing something anything everything string thing king ring spring during morning evening interesting according regarding concerning including being".split(
    " ",
  ),
);

const irregularPast: ReadonlySet<string> = new Set(
  "was were had has have did done been went gone ran wrote written found made built sent got saw seen gave took taken began begun broke broken chose chosen came became drew kept left lost met said sold told thought understood".split(
    " ",
  ),
);

const isPast = (word: string): boolean => irregularPast.has(word) || /[a-z]{2}ed$/.test(word);

const beforeAdjective = /^(?:a|an|all|any|the|its|in|of|on|for|with|and|by|from)$/;
const afterVerb = /^(?:in|of|on|for|with|and|by|from|to|at|as|successfully|already|now)$/;

/**
 * Whether one of the words behind the first is a verb in the past: "Testing finished for a.ts", "Reading a.ts completed".
 * In "Fixing failed a.test.ts" it is an adjective: it stands right behind the verb or an article, and before a name.
 */
function isAnyFinitePast(words: readonly string[]): boolean {
  return words.some((word, at) => {
    if (!isPast(word)) return false;
    const before = words[at - 1];
    const after = words[at + 1];
    const isAdjective =
      !irregularPast.has(word) &&
      (before === undefined || beforeAdjective.test(before)) &&
      after !== undefined &&
      !afterVerb.test(after);
    return !isAdjective;
  });
}

/** A file with its extension or folder, or a function, that the messages have too. */
function isKnownName(word: string, messages: readonly Message[]): boolean {
  const isCalled = /\(\)\W*$/.test(word);
  const name = word.replace(/^[^\p{L}\p{N}_./~@]+/u, "").replace(/[^\p{L}\p{N}_]+$/u, "");
  if (name.length < 2) return false;
  const blocks = messages.flatMap(({ content }) => content);
  if (isFileName(name)) return blocks.some((block) => occursIn(name, blockText(block)));
  if (blocks.some((block) => block.type === "tool_use" && lastPart(callFilePath(block)) === name)) return true;
  const isCodeName = isCalled || /[\p{L}\p{N}]_[\p{L}\p{N}]|^_|[\p{Ll}\p{N}]\p{Lu}|\p{L}[.#]\p{L}/u.test(name);
  return isCodeName && blocks.some((block) => isDefinedIn(name, block));
}

const isFileName = (name: string): boolean =>
  /[\p{L}\p{N}_-]\.\p{L}[\p{L}\p{N}]{0,7}$|\p{L}\/[\p{L}\p{N}._@-]/u.test(name);
const lastPart = (path: string | undefined): string | undefined => path?.split(/[\\/]+/).findLast(Boolean);

/** As a whole name: `loop.ts` is not in `my-loop.ts`, but it is in `src/loop.ts`. */
const occursIn = (name: string, text: string): boolean =>
  text.includes(name) &&
  new RegExp(String.raw`(?<![\p{L}\p{N}_-])${escapeRegExp(name)}(?![\p{L}\p{N}_])`, "u").test(text);

/** "TypeScript" looks like a function too, but nothing calls, defines or looks for it. */
function isDefinedIn(name: string, block: Block): boolean {
  const text = blockText(block);
  if (!text.includes(name)) return false;
  if (block.type === "tool_use" && Object.values(block.input).some((value) => value === name)) return true;
  const whole = String.raw`(?<![\p{L}\p{N}_])${escapeRegExp(name)}(?![\p{L}\p{N}_])`;
  const definition = String.raw`\b(?:function|class|const|let|var|def|fn|func|interface|type|struct|enum)\s+${whole}`;
  return new RegExp(String.raw`${definition}|${whole}\s*[(<=]|\x60${whole}(?:\(\))?\x60`, "u").test(text);
}

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return leafTexts(block.input).join("\n");
    case "tool_result":
      return typeof block.content === "string" ? block.content : leafTexts(block.content ?? []).join("\n");
    case "thinking":
    case "redacted_thinking":
    case "unknown":
      return "";
    // Images and what the provider's own tools found.
    default:
      return "";
  }
}

function leafTexts(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((inner: Json) => leafTexts(inner));
}
