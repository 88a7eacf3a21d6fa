import { type Block, isMediaType, type Message as ContextMessage, type ToolResultBlock } from "../../schema/block.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import { textField } from "../../schema/json.ts";
import type { MessagesParams } from "../../schema/wire/messages-params.ts";
import type { PreparedRequest } from "../shared/adapter-context.ts";
import { listView, resultText, shownThinking, thinkingKey } from "../shared/shown-blocks.ts";
import { type CacheMark, findMarks, type Marks } from "./cache-marks.ts";
import {
  type EncodedMessage,
  type EncodedPart,
  encodeOutputPart,
  isTracked,
  type NewPart,
  optionsFor,
  type PromptPart,
  type PromptRole,
  readFields,
} from "./prompt-message.ts";

/** What a framework makes its message of: parts of its own, and new ones of the context. */
export interface PromptDraft<Message, Part> {
  readonly role: PromptRole;
  /** The message that the parts are from; undefined if all are new. */
  readonly source: Message | undefined;
  readonly parts: readonly (Part | NewPart)[];
}

interface WriteInput<Message, Part> {
  readonly given: readonly EncodedMessage<Message, Part>[];
  /** Cache marks are the context's, for a provider that has them. */
  readonly marks: Marks;
  readonly write: (draft: PromptDraft<Message, Part>) => Message;
}

/**
 * The request as a prompt. A message that the context shows as it was is the framework's own object, with its ids, options
 * and metadata; of another one, the parts that are as they were. Only what the context changed is written anew.
 */
export function writePrompt<Message extends { readonly role: PromptRole }, Part extends PromptPart>(
  { params, outgoing = listView(params) }: Pick<PreparedRequest<"anthropic">, "params" | "outgoing">,
  { given, marks, write }: WriteInput<Message, Part>,
): Message[] {
  const thinking = shownThinking(params.messages);
  const tracked = given.map(({ parts }) => parts.filter(({ block }) => isTracked(block)).length);
  const found = marks === "none" ? undefined : findMarks(params.messages, { outgoing, tracked });
  return outgoing.flatMap((sent, nth) => {
    const marked = found?.[nth];
    const own = sent.kind === "given" ? given[sent.at] : sent.of === undefined ? undefined : given[sent.of];
    if (sent.kind === "made")
      return draftMessages(sent.message, { own, marked }).map((draft) =>
        write(marks === "none" ? draft : withoutOwnMark(draft)),
      );
    return own === undefined ? [] : [writeGiven(own, { thinking, marked, write })];
  });
}

interface GivenInput<Message, Part> extends Pick<WriteInput<Message, Part>, "write"> {
  readonly thinking: ReadonlySet<string>;
  /** By the number of the block in the message; undefined for a provider without marks. */
  readonly marked: ReadonlyMap<number, CacheMark> | undefined;
}

/** Thinking that may no longer be sent is left out, and marks are set: both in a copy. */
function writeGiven<Message extends { readonly role: PromptRole }, Part extends PromptPart>(
  { message, parts }: EncodedMessage<Message, Part>,
  { thinking, marked, write }: GivenInput<Message, Part>,
): Message {
  const kept = parts.filter(({ block }) => {
    const key = block === undefined ? undefined : thinkingKey(block);
    return key === undefined || thinking.has(key);
  });
  let nth = -1;
  const written = kept.map(({ block, part }) => {
    if (isTracked(block)) nth += 1;
    return marked === undefined ? part : withMark(part, isTracked(block) ? marked.get(nth) : undefined);
  });
  const isSame = written.length === parts.length && written.every((part, at) => part === parts[at]?.part);
  const draft = { role: message.role, source: message, parts: written };
  const unmarked = marked === undefined ? draft : withoutOwnMark(draft);
  return isSame && unmarked.source === message ? message : write(unmarked);
}

interface DraftInput<Message, Part> {
  /** The message in whose place it is sent. */
  readonly own: EncodedMessage<Message, Part> | undefined;
  readonly marked: ReadonlyMap<number, CacheMark> | undefined;
}

/** Results are messages of their own role. */
function draftMessages<Message extends { readonly role: PromptRole }, Part extends PromptPart>(
  { role, content }: ContextMessage,
  { own, marked }: DraftInput<Message, Part>,
): readonly PromptDraft<Message, Part>[] {
  const drafts: { role: PromptRole; source: Message | undefined; parts: (Part | NewPart)[] }[] = [];
  const add = (target: PromptRole, parts: readonly (Part | NewPart)[]): void => {
    const last = drafts.at(-1);
    if (last?.role === target) last.parts.push(...parts);
    else
      drafts.push({ role: target, source: own?.message.role === target ? own.message : undefined, parts: [...parts] });
  };
  const originals = new Originals(own?.parts ?? []);
  let nth = -1;
  for (const block of content) {
    if (isTracked(block)) nth += 1;
    const parts = originals.restore(block);
    const last = parts.at(-1);
    if (last === undefined) continue;
    const mark = isTracked(block) ? marked?.get(nth) : undefined;
    add(block.type === "tool_result" ? "tool" : role, [
      ...parts.slice(0, -1),
      marked === undefined ? last : withMark(last, mark),
    ]);
  }
  const rest = originals.rest();
  const last = drafts.at(-1);
  if (last?.source !== undefined) last.parts.push(...rest);
  return drafts;
}

/** The parts of one message, found again by the blocks that are sent in its place. */
class Originals<Part extends PromptPart> {
  readonly #parts: readonly EncodedPart<Part>[];
  #next = 0;

  constructor(parts: readonly EncodedPart<Part>[]) {
    this.#parts = parts;
  }

  /** The part, after those without a block that go with it. */
  restore(block: Block): readonly (Part | NewPart)[] {
    const at = this.#parts.findIndex((one, index) => index >= this.#next && isAbout(one.block, block));
    const original = this.#parts[at];
    if (original === undefined) return newParts(block);
    const before = this.#withoutBlock(at);
    this.#next = at + 1;
    return [...before, withContent(original, block)];
  }

  rest(): readonly (Part | NewPart)[] {
    return this.#withoutBlock(this.#parts.length);
  }

  #withoutBlock(end: number): readonly (Part | NewPart)[] {
    return this.#parts.slice(this.#next, end).flatMap(({ block, part }) => (block === undefined ? [part] : []));
  }
}

/** Calls and results are the same by their ids, whatever the context did to their content. */
function isAbout(original: Block | undefined, block: Block): boolean {
  if (original?.type === "tool_use") return block.type === "tool_use" && original.id === block.id;
  if (original?.type === "tool_result")
    return block.type === "tool_result" && original.tool_use_id === block.tool_use_id;
  return original !== undefined && canonicalJson({ ...original }) === canonicalJson({ ...block });
}

/** A call or a result that the context changed keeps everything but its content. */
function withContent<Part extends PromptPart>(
  { part, block: original }: EncodedPart<Part>,
  block: Block,
): Part | NewPart {
  if (block.type === "tool_use" && original?.type === "tool_use")
    return canonicalJson(block.input) === canonicalJson(original.input)
      ? part
      : withFields(part, { input: block.input });
  if (block.type !== "tool_result" || original?.type !== "tool_result") return part;
  if (isSameResult(original, block)) return part;
  return withFields(part, { output: writeMixedOutput(part, block) });
}

const withFields = <Part>(part: Part, fields: object): Part => ({ ...part, ...fields });

/** Pictures that are still shown stay the framework's. */
function writeMixedOutput(part: PromptPart, block: ToolResultBlock): object {
  const { value } = readFields(readFields(part)["output"]);
  const { content } = block;
  if (!Array.isArray(value) || typeof content !== "object" || !content.some(({ type }) => isMediaType(type)))
    return writeOutput(block);
  const items = new Map(value.map((item: unknown) => [canonicalJson(encodeOutputPart(item)), item]));
  const shown = content.map(
    (one) => items.get(canonicalJson(one)) ?? { type: "text", text: textField(one, "text") ?? "[file]" },
  );
  return { type: "content", value: shown };
}

/** An empty result is shown with a note that it is empty. */
const isSameResult = (original: ToolResultBlock, block: ToolResultBlock): boolean => {
  const text = resultText(original);
  return text.trim() === "" || text === resultText(block);
};

const writeOutput = (block: ToolResultBlock) => ({
  type: block.is_error === true ? ("error-text" as const) : ("text" as const),
  value: resultText(block),
});

/** For what the context wrote itself: summaries, stubs, reminders. */
function newParts(block: Block): readonly NewPart[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text }];
    case "tool_use":
      return [{ type: "tool-call", toolCallId: block.id, toolName: block.name, input: block.input }];
    case "tool_result":
      return [{ type: "tool-result", toolCallId: block.tool_use_id, toolName: "tool", output: writeOutput(block) }];
    case "thinking": {
      const providerOptions = { anthropic: { signature: block.signature } };
      return [{ type: "reasoning", text: block.thinking, providerOptions }];
    }
    case "image":
    case "document":
      return [{ type: "text", text: `[${block.type}]` }];
    default:
      return [];
  }
}

/** A request of the context itself, such as the one for a summary, in a form that every version has. */
export function writeNewCall(params: MessagesParams) {
  const { system = [], messages, max_tokens: maxOutputTokens } = params;
  const tools = (params.tools ?? []).map(({ name, description, input_schema }) => ({
    type: "function" as const,
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { ...input_schema },
  }));
  const prompt = [
    ...system.map(({ text }) => ({ role: "system" as const, content: text })),
    ...listView({ messages }).flatMap((sent) =>
      sent.kind === "given"
        ? []
        : draftMessages<never, never>(sent.message, { own: undefined, marked: undefined }).map(writeNewMessage),
    ),
  ];
  return { prompt, maxOutputTokens, ...(tools.length === 0 ? {} : { tools }) };
}

function writeNewMessage({ role, parts }: PromptDraft<never, never>) {
  switch (role) {
    case "system":
      return { role, content: joinTexts(parts) };
    case "user":
      return { role, content: parts.filter((part) => part.type === "text") };
    case "assistant":
      return { role, content: parts.filter((part) => part.type !== "tool-result") };
    case "tool":
      return { role, content: parts.filter((part) => part.type === "tool-result") };
  }
}

/** The content of a system message. */
export const joinTexts = (parts: readonly PromptPart[]): string =>
  parts.flatMap((part) => ("text" in part && typeof part.text === "string" ? [part.text] : [])).join("\n");

/** System messages in mid-conversation are part of it. */
export function splitSystem<Message extends { readonly role: PromptRole }>(prompt: readonly Message[]) {
  const end = prompt.findIndex(({ role }) => role !== "system");
  const system = prompt.slice(0, end === -1 ? prompt.length : end).filter((message) => isSystem(message));
  return { system, others: prompt.slice(system.length) };
}

const isSystem = <Message extends { readonly role: PromptRole }>(
  message: Message,
): message is Extract<Message, { readonly role: "system" }> => message.role === "system";

/** The provider's other options stay. */
function withMark<Part>(part: Part, mark: CacheMark | undefined): Part {
  const fields = readFields(part);
  const { cacheControl, ...anthropic } = optionsFor(fields, "anthropic");
  if (mark === undefined && cacheControl === undefined) return part;
  const marked = mark === undefined ? anthropic : { ...anthropic, cacheControl: { ...mark } };
  return { ...part, providerOptions: { ...readFields(fields["providerOptions"]), anthropic: marked } };
}

/** The mark of a whole message is on its last part, too. */
function withoutOwnMark<Message, Part>(draft: PromptDraft<Message, Part>): PromptDraft<Message, Part> {
  const { source } = draft;
  return source === undefined ? draft : { ...draft, source: withMark(source, undefined) };
}
