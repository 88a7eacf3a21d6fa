import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { ToolChange, WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { hasCompactionBeta } from "../compaction/compaction-block.ts";
import { isObject, type JsonObject, parseJson } from "palimpsest/internal/schema/json";

/** Either beta lets a system message change the tools by name; only the second lets it bring a definition. */
const toolChangeBeta = "mid-conversation-tool-changes-2026-07-01";
export const inlineToolsBeta = "inline-tools-2026-09-15";

export const changesTools = (betas: ReadonlySet<string>): boolean =>
  betas.has(toolChangeBeta) || betas.has(inlineToolsBeta);

/**
 * A compaction lists changes too, and they hold whichever beta made them. Without any of these betas no message is
 * examined.
 */
export const mayChangeTools = (betas: ReadonlySet<string>): boolean => changesTools(betas) || hasCompactionBeta(betas);

/** The outcome of one change. */
type ChangeOutcome =
  | { readonly kind: "changed" }
  /** A deferred tool is added: the model reads its definition here for the first time. */
  | { readonly kind: "loaded"; readonly tool: WireTool }
  /** Nothing of that name has been declared or defined so far. */
  | { readonly kind: "unresolved"; readonly name: string }
  /** A tool of another kind has the name. */
  | { readonly kind: "conflict"; readonly name: string }
  | { readonly kind: "mcp"; readonly server: string };

/** The tools at one point of a conversation: those of `tools`, changed by the system messages up to there. */
export class ToolSet {
  /** Declared or defined so far, withdrawn or not. */
  readonly #knownByName = new Map<string, WireTool>();
  readonly #offeredByName = new Map<string, WireTool>();
  /** Deferred, and not loaded yet. */
  readonly #unread = new Set<string>();
  readonly #charsByTool = new Map<WireTool, number>();
  /** Kept up to date after the first use. */
  #chars: number | undefined;

  constructor(tools: readonly WireTool[]) {
    for (const tool of tools) {
      const name = toolName(tool);
      this.#knownByName.set(name, tool);
      this.#offeredByName.set(name, tool);
      if (tool.defer_loading === true) this.#unread.add(name);
    }
  }

  get size(): number {
    return this.#offeredByName.size;
  }

  /**
   * JSON length of all tools that are offered. Costs that length the first time, then only the length of what changes.
   */
  get chars(): number {
    this.#chars ??= this.offered.reduce((sum, tool) => sum + this.#charsOf(tool), 0);
    return this.#chars;
  }

  /** Tools that the model can call, including deferred ones that it has yet to find. */
  get offered(): readonly WireTool[] {
    return [...this.#offeredByName.values()];
  }

  apply({ type, tool }: ToolChange): ChangeOutcome {
    switch (tool.type) {
      case "mcp_tool_reference":
      case "mcp_toolset_reference":
        return { kind: "mcp", server: tool.server_name };
      case "tool_definition":
        return this.#define(tool.definition);
      case "tool_reference":
        return type === "tool_addition" ? this.#add(tool.name) : this.#remove(tool.name);
    }
  }

  /** Replaces a tool of the same kind and name. */
  #define(tool: WireTool): ChangeOutcome {
    const name = toolName(tool);
    const holder = this.#offeredByName.get(name);
    if (holder !== undefined && toolKind(holder) !== toolKind(tool)) return { kind: "conflict", name };
    this.#knownByName.set(name, withoutDeferral(tool));
    this.#offer(name, withoutDeferral(tool));
    this.#unread.delete(name);
    return { kind: "changed" };
  }

  #add(name: string): ChangeOutcome {
    const known = this.#knownByName.get(name);
    if (known === undefined) return { kind: "unresolved", name };
    const tool = withoutDeferral(known);
    this.#offer(name, tool);
    return this.#unread.delete(name) ? { kind: "loaded", tool } : { kind: "changed" };
  }

  #remove(name: string): ChangeOutcome {
    if (!this.#knownByName.has(name)) return { kind: "unresolved", name };
    this.#offer(name, undefined);
    return { kind: "changed" };
  }

  #offer(name: string, tool: WireTool | undefined): void {
    const before = this.#offeredByName.get(name);
    if (this.#chars !== undefined) this.#chars += this.#charsOf(tool) - this.#charsOf(before);
    if (tool === undefined) this.#offeredByName.delete(name);
    else this.#offeredByName.set(name, tool);
  }

  #charsOf(tool: WireTool | undefined): number {
    if (tool === undefined) return 0;
    const chars = this.#charsByTool.get(tool) ?? JSON.stringify(tool).length;
    this.#charsByTool.set(tool, chars);
    return chars;
  }
}

const toolName = (tool: WireTool): string => tool.name ?? toolKind(tool);

/** A provider's tool keeps its kind from version to version. */
const toolKind = ({ type }: WireTool): string =>
  typeof type === "string" ? type.replace(/_\d{8}$/, "").replace(/_toolset$/, "") : "custom";

const withoutDeferral = (tool: WireTool): WireTool =>
  tool.defer_loading === true ? { ...tool, defer_loading: false } : tool;

export interface ToolStep {
  readonly change: ToolChange;
  /** `messages.3.content.0`, or `messages.0.content.0.tool_changes.1` for a change that a compaction lists. */
  readonly path: string;
  /** The block that makes the change, or the compaction that lists it. */
  readonly holder: { readonly block: WireBlock; readonly path: string };
  /** Index of its message. */
  readonly message: number;
  readonly outcome: ChangeOutcome;
  /** The tools after the change. */
  readonly tools: ToolSet;
}

/**
 * The changes of a conversation in order. A compaction that lists the changes before it replaces them, whether or not
 * the messages that made them are still sent.
 */
export function* toolSteps({ tools, messages }: Pick<MessagesRequest, "tools" | "messages">): Generator<ToolStep> {
  let set = new ToolSet(tools ?? []);
  for (const [message, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    for (const [index, block] of content.entries()) {
      const path = `messages.${message}.content.${index}`;
      if (block.type === "tool_addition" || block.type === "tool_removal")
        yield { change: block, path, holder: { block, path }, message, outcome: set.apply(block), tools: set };
      if (block.type !== "compaction" || typeof block.content !== "string" || !block.tool_changes) continue;
      set = new ToolSet(tools ?? []);
      const holder = { block, path };
      for (const [at, change] of block.tool_changes.entries())
        yield { change, path: `${path}.tool_changes.${at}`, holder, message, outcome: set.apply(change), tools: set };
    }
  }
}

/** The tools at the end of a conversation; undefined if they are `tools` unchanged. */
export function toolsAtEnd(
  request: Pick<MessagesRequest, "tools" | "messages">,
  betas: ReadonlySet<string>,
): readonly WireTool[] | undefined {
  if (!mayChangeTools(betas)) return undefined;
  let last: ToolStep | undefined;
  for (const step of toolSteps(request)) last = step;
  return last?.tools.offered;
}

/**
 * The changes from the request's `tools` to those that are offered at the end of its messages, each tool once. What was
 * changed and changed back, or defined and withdrawn again, is not a change.
 */
export function netToolChanges(request: MessagesRequest): readonly JsonObject[] {
  const lastByTool = new Map<string, ToolChange>();
  const definitionByTool = new Map<string, ToolChange>();
  let set: ToolSet | undefined;
  for (const { change, tools } of toolSteps(request)) {
    // A compaction's own list replaces the changes before it.
    if (tools !== set) lastByTool.clear();
    set = tools;
    const key = toolChangeKey(change.tool);
    if (change.tool.type === "tool_definition") definitionByTool.set(key, change);
    lastByTool.delete(key);
    lastByTool.set(key, change.type === "tool_removal" ? change : (definitionByTool.get(key) ?? change));
  }
  const declared = new Map((request.tools ?? []).map((tool) => [toolKey(tool.name ?? ""), tool]));
  return [...lastByTool].flatMap(([key, change]) =>
    isNetChange(change, declared.get(key)) ? [bareChange(change)] : [],
  );
}

/** Number of distinct tools that the conversation's changes and results refer to. */
export function countReferencedTools(request: MessagesRequest): number {
  const keys = new Set<string>();
  for (const { change } of toolSteps(request)) keys.add(toolChangeKey(change.tool));
  for (const { content } of request.messages)
    for (const block of typeof content === "string" ? [] : content)
      for (const name of findReferences(block)) keys.add(toolKey(name));
  return keys.size;
}

function findReferences(block: WireBlock): readonly string[] {
  if (block.type !== "tool_result" || typeof block.content !== "object") return [];
  return block.content.flatMap((part) => (part.type === "tool_reference" ? [part.tool_name] : []));
}

function toolChangeKey(tool: ToolChange["tool"]): string {
  switch (tool.type) {
    case "tool_reference":
      return toolKey(tool.name);
    case "tool_definition":
      return toolKey(tool.definition.name ?? "");
    case "mcp_tool_reference":
      return JSON.stringify(["mcp", tool.server_name, tool.name]);
    case "mcp_toolset_reference":
      return JSON.stringify(["mcp", tool.server_name]);
  }
}

const toolKey = (name: string): string => JSON.stringify(["tool", name]);

/** Adding a deferred tool loads it; adding another tool of `tools` changes nothing. */
function isNetChange({ type, tool }: ToolChange, declared: WireTool | undefined): boolean {
  if (tool.type !== "tool_reference") return true;
  if (type === "tool_removal") return declared !== undefined;
  return declared === undefined || declared.defer_loading === true;
}

/** Without cache markers: each belonged to the request that brought it. */
function bareChange({ type, tool }: ToolChange): JsonObject {
  const change = parseJson(
    JSON.stringify({ type, tool: tool.type === "tool_definition" ? withoutMarker(tool) : tool }),
  );
  if (!isObject(change)) throw new Error("a change of tools is an object");
  return change;
}

function withoutMarker({ type, definition }: Extract<ToolChange["tool"], { type: "tool_definition" }>): object {
  const { cache_control: _marker, ...rest } = definition;
  return { type, definition: rest };
}

/** The provider's memory tool: the API knows its definition by its type, and the client runs it. */
export const memoryTool = { type: "memory_20250818", name: "memory" } as const;

/**
 * What the model reads if the tool is declared: its definition, and an instruction that the API adds. Both are in our
 * own words; they are never sent anywhere, but they take room in the prompt as the provider's do.
 */
export const memoryToolText = `memory: files that outlive this conversation, in the folder /memories.
Commands, one a call:
view {path, view_range?}: a folder with its files and their sizes, two levels deep, or a file with numbered lines; a long text is cut after 16,000 characters, and an image is shown. view_range is [first, last], and a last line of -1 means the end.
create {path, file_text}: a new file with this text.
str_replace {path, old_str, new_str}: puts new_str where old_str stands; it has to stand there exactly once, spaces included.
insert {path, insert_line, insert_text}: puts the text behind that line; line 0 is the beginning of the file.
delete {path}: a file, or a folder with everything in it.
rename {old_path, new_path}: moves a file or a folder; nothing may stand at the new place yet.
{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},"path":{"type":"string"},"view_range":{"type":"array","items":{"type":"integer"}},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},"insert_line":{"type":"integer"},"insert_text":{"type":"string"},"old_path":{"type":"string"},"new_path":{"type":"string"}},"required":["command"]}
Look into the memory folder before anything else: earlier work may have left its state there. Write down progress, decisions and findings as you go. The conversation may end at any moment, and what stands only in it is lost then. Keep the files short, current and in order: change what is no longer true, and delete what nobody needs.`;
