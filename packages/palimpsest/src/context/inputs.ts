import { parseBlock, type ResultContent } from "../schema/block.ts";
import { isArray, isObject, type Json, parseJson } from "../schema/json.ts";
import { type Draft, userDraft } from "../transcript/draft.ts";
import { ContextError } from "./context-error.ts";

/** A block of content as a provider's SDK types it. What it holds is checked when it comes. */
export interface BlockParams {
  readonly type: string;
}

/** In the form of the Messages API, whoever the provider is. */
export interface ToolOption {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input_schema: object;
}

export function userContentDraft(content: string | readonly BlockParams[]): Draft {
  if (typeof content === "string") {
    if (content.trim() === "") throw badOption("A user's message can't be empty.");
    return userDraft(content);
  }
  const blocks = blocksIn(content);
  if (blocks.length === 0) throw badOption("A user's message has text, images or documents, at least one.");
  return { type: "user", message: { role: "user", content: [...blocks] } };
}

export function resultContent(content: string | readonly BlockParams[]): ResultContent {
  if (typeof content === "string") return content;
  return blocksIn(content).filter(isObject);
}

/** What people and tools may say. */
const saidTypes: ReadonlySet<string> = new Set(["text", "image", "document", "search_result"]);

function blocksIn(content: readonly BlockParams[]): readonly Json[] {
  const blocks = parseJson(JSON.stringify(content) ?? "null");
  if (!isArray(blocks) || !blocks.every((block) => saidTypes.has(parseBlock(block).type)))
    throw badOption("Content is a text, or a list of blocks: text, images, documents.");
  return blocks;
}

export function checkModel(model: string): void {
  if (typeof model !== "string" || model === "") throw badOption("The option model must be the name of a model.");
}

/** As every provider wants it. */
const toolName = /^[A-Za-z0-9_-]{1,128}$/;

export function checkTools(tools: readonly ToolOption[]): void {
  const names = new Set<string>();
  for (const { name, input_schema: schema } of tools) {
    if (typeof name !== "string" || !toolName.test(name))
      throw badOption(`A tool's name has letters, digits, dashes and underscores, 128 at most: ${name}`);
    if (names.has(name)) throw badOption(`Two tools have the name ${name}.`);
    if (typeof schema !== "object" || schema === null) throw badOption(`The tool ${name} needs an input_schema.`);
    names.add(name);
  }
}

export const badOption = (message: string): ContextError => new ContextError("bad-option", message);
