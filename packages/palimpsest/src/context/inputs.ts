import { parseBlock, type ResultContent } from "../schema/block.ts";
import { isArray, isObject, type Json, parseJson } from "../schema/json.ts";
import { type Draft, userDraft } from "../transcript/draft.ts";
import { ContextError } from "./context-error.ts";
import type { EntryId } from "../schema/brand.ts";
import { hookContextAttachmentType, tagWithBoundary } from "../transcript/attachment-text.ts";

/** A content block as a provider's SDK types it. Its content is checked at run time. */
export interface BlockParams {
  readonly type: string;
}

/** A system prompt: one text or several. */
export type SystemOption = string | readonly (string | { readonly type: "text"; readonly text: string })[];

/** A tool in the format of the Messages API, for every provider; or one that the Messages API defines itself, by its `type`. */
export type ToolOption = OwnToolOption | DefinedToolOption;

interface OwnToolOption {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input_schema: object;
}

/** For example `{ type: "memory_20250818", name: "memory" }`. */
interface DefinedToolOption {
  readonly name: string;
  readonly type: string;
}

export interface SyncOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * How many messages at the beginning are those of the list before, unchanged: they are not read again, so a step costs
   * only what is new. The list before is that of the previous call, whatever became of it. More messages than it had
   * are ignored.
   */
  readonly unchanged?: number | undefined;
  /**
   * `any`: the list may end with the assistant, whose reply the model is to go on with, because it paused or was begun for
   * it. By default (`user`) there is no request to send then.
   */
  readonly ending?: "user" | "any" | undefined;
}

export function userContentDraft(content: string | readonly BlockParams[]): Draft {
  if (typeof content === "string") {
    if (content.trim() === "") throw badOptionError("A user's message can't be empty.");
    return userDraft(content);
  }
  const blocks = parseContent(content);
  if (blocks.length === 0) throw badOptionError("A user's message needs at least one block: text, image or document.");
  return { type: "user", message: { role: "user", content: [...blocks] } };
}

export function resultContent(content: string | readonly BlockParams[]): ResultContent {
  if (typeof content === "string") return content;
  const references = content.filter(isToolReference);
  if (content.length > 0 && references.length === content.length)
    return references.map(({ tool_name }) => ({ type: "tool_reference", tool_name }));
  return parseContent(content).filter(isObject);
}

/** The result of a search for tools: the Messages API then shows the model their definitions. */
const isToolReference = (block: BlockParams): block is BlockParams & { readonly tool_name: string } =>
  block.type === "tool_reference" && "tool_name" in block && typeof block.tool_name === "string";

/** Block types that users and tools may send. */
const contentTypes: ReadonlySet<string> = new Set(["text", "image", "document", "search_result"]);

function parseContent(content: readonly BlockParams[]): readonly Json[] {
  const blocks = parseJson(JSON.stringify(content) ?? "null");
  if (!isArray(blocks) || !blocks.every((block) => contentTypes.has(parseBlock(block).type)))
    throw badOptionError("Content must be a string or a list of text, image and document blocks.");
  return blocks;
}

export function checkModel(model: string): void {
  if (typeof model !== "string" || model === "") throw badOptionError("The option model must be the name of a model.");
}

/** Every provider accepts these names. */
const toolName = /^[A-Za-z0-9_-]{1,128}$/;

export function checkTools(tools: readonly ToolOption[]): void {
  const names = new Set<string>();
  for (const tool of tools) {
    const { name } = tool;
    if (typeof name !== "string" || !toolName.test(name))
      throw badOptionError(`A tool's name may have up to 128 letters, digits, dashes and underscores: ${name}`);
    if (names.has(name)) throw badOptionError(`Two tools have the name ${name}.`);
    const schema = "input_schema" in tool ? tool.input_schema : undefined;
    const isDefined = "type" in tool && tool.type !== "custom";
    if (!isDefined && (typeof schema !== "object" || schema === null))
      throw badOptionError(`The tool ${name} needs an input_schema.`);
    names.add(name);
  }
}

export const badOptionError = (message: string): ContextError => new ContextError("bad-option", message);

/** A message that the user queued while the agent worked. The log keeps it as the user's own text. */
export const draftQueuedMessage = (prompt: string): Draft => ({
  type: "attachment",
  attachment: { type: "queued_command", prompt },
});

/** Context that a hook adds for the model. `boundary`: the boundary that triggered the hook; its undo removes this too. */
export function contextDraft(content: string, boundary?: EntryId): Draft {
  const attachment = { type: hookContextAttachmentType, content };
  return {
    type: "attachment",
    attachment: boundary === undefined ? attachment : tagWithBoundary(attachment, boundary),
  };
}
