import type { Message } from "../schema/block.ts";
import { tokens, type Tokens } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import { type ByteCounts, measureText, noBytes } from "./byte-counts.ts";
import { tokensFromBytes } from "./estimate-block.ts";
import type { CountText } from "./text-counter.ts";
import { firstRates, findModel, toolOverhead } from "./known-models.ts";

/** What a request contains besides messages, as far as it is known. */
export interface FixedPart {
  /** The model of the requests: models count the same text differently, and some add their own text for tools. */
  readonly model?: string | undefined;
  readonly systemPrompts: readonly string[];
  readonly tools: readonly ToolDefinition[];
  readonly memoryFiles: readonly MemoryFile[];
  /** What the system prompt says about the agent's memory, with its index. */
  readonly memory?: readonly string[] | undefined;
}

/** In the format of the Messages API. */
export interface ToolDefinition extends JsonObject {
  readonly name: string;
}

export interface MemoryFile {
  readonly path: string;
  readonly text: string;
}

/** In the order in which they are counted; each is a category of the report. */
export const fixedKinds = ["systemPrompt", "memory", "memoryFiles", "tools", "mcpTools"] as const;
type FixedKind = (typeof fixedKinds)[number];

export interface FixedPiece {
  readonly kind: FixedKind;
  readonly tokens: Tokens;
  /** Number of texts, files or definitions. */
  readonly count: number;
}

/** Tools whose definitions enter the window only when they are loaded, so they are not part of what is used. */
export interface DeferredTools {
  readonly tools: readonly string[];
  /**
   * Their size if all were loaded. If there is no other tool, an exact count includes the provider's overhead for having
   * tools at all, because the first loaded tool would add that too.
   */
  readonly tokens: Tokens;
}

/** `tokens` is the sum of the pieces; a kind that the request does not contain has no piece. */
export interface FixedFigure {
  readonly tokens: Tokens;
  readonly pieces: readonly FixedPiece[];
  readonly deferred: DeferredTools;
  /** `estimate`, or the name of the counter. */
  readonly counter: string;
}

export const noFixedPart: FixedPart = { systemPrompts: [], tools: [], memoryFiles: [] };

/** Bytes by content class, so that the estimate follows the rates as they are learned. */
export interface FixedBytes {
  readonly model: string | undefined;
  readonly pieces: readonly {
    readonly kind: FixedKind;
    readonly bytes: ByteCounts;
    readonly count: number;
    /** The provider's overhead, in tokens. */
    readonly addedTokens: number;
  }[];
  readonly deferred: { readonly tools: readonly string[]; readonly bytes: ByteCounts };
}

/** `countText`: the caller's tokenizer, if there is one. */
export function measureFixedPart(part: FixedPart, countText: CountText = () => 0): FixedBytes {
  const { model } = part;
  const contents = groupByKind(part);
  const firstToolKind = (["tools", "mcpTools"] as const).find((kind) => contents[kind].tools.length > 0);
  const pieces = fixedKinds.map((kind) => {
    const { texts, tools } = contents[kind];
    const addedTokens = kind === firstToolKind ? toolOverheadTokens(model) : 0;
    return {
      kind,
      bytes: measureContents([...texts, ...definitionTexts(tools)], countText),
      count: texts.length + tools.length,
      addedTokens,
    };
  });
  const { tools } = contents.deferredTools;
  return {
    model,
    pieces: pieces.filter(({ count }) => count > 0),
    deferred: { tools: tools.map(({ name }) => name), bytes: measureContents(definitionTexts(tools), countText) },
  };
}

/** `rates`: the learned ones; absent: those of a new session with the model. */
export function estimateFixedPart({ model, pieces, deferred }: FixedBytes, rates = firstRates(model)): FixedFigure {
  return withTotal({
    pieces: pieces.map(({ kind, bytes, count, addedTokens }) => ({
      kind,
      count,
      tokens: tokens(tokensFromBytes(bytes, rates) + addedTokens),
    })),
    deferred: { tools: deferred.tools, tokens: tokensFromBytes(deferred.bytes, rates) },
    counter: "estimate",
  });
}

/** What an exact counter counts. The API refuses a request without a message. */
export interface CountableRequest {
  readonly system: readonly string[];
  readonly tools: readonly ToolDefinition[];
  readonly messages: readonly Message[];
}

interface CountingStep {
  readonly kind: FixedKind | "message" | "deferredTools";
  readonly count: number;
  readonly request: CountableRequest;
}

/**
 * Requests that grow by one kind at a time, starting with a one-word message: the size of a kind is the difference
 * between its request and the previous one. So the pieces sum to the whole, and the provider's overhead for having tools
 * at all is counted once.
 */
export function countingSteps(part: FixedPart): readonly CountingStep[] {
  const contents = groupByKind(part);
  const messages: readonly Message[] = [{ role: "user", content: [{ type: "text", text: "x" }] }];
  const steps: CountingStep[] = [{ kind: "message", count: 0, request: { system: [], tools: [], messages } }];
  const system: string[] = [];
  const tools: ToolDefinition[] = [];
  for (const kind of [...fixedKinds, "deferredTools"] as const) {
    const added = contents[kind];
    const count = added.texts.length + added.tools.length;
    if (count === 0) continue;
    system.push(...added.texts);
    tools.push(...added.tools);
    steps.push({ kind, count, request: { system: [...system], tools: [...tools], messages } });
  }
  return steps;
}

export interface CountedStep extends CountingStep {
  readonly tokens: Tokens;
}

export function sumFixedPart(steps: readonly CountedStep[], counter: string): FixedFigure {
  const pieces: FixedPiece[] = [];
  let deferred: DeferredTools = { tools: [], tokens: tokens(0) };
  for (const [at, { kind, count, request, tokens: total }] of steps.entries()) {
    const added = tokens(Math.max(0, total - (steps[at - 1]?.tokens ?? 0)));
    if (kind === "deferredTools")
      deferred = { tools: request.tools.slice(-count).map(({ name }) => name), tokens: added };
    else if (kind !== "message") pieces.push({ kind, count, tokens: added });
  }
  return withTotal({ pieces, deferred, counter });
}

const withTotal = (figure: Omit<FixedFigure, "tokens">): FixedFigure => ({
  ...figure,
  tokens: tokens(figure.pieces.reduce((sum, piece) => sum + piece.tokens, 0)),
});

interface KindContents {
  readonly texts: readonly string[];
  readonly tools: readonly ToolDefinition[];
}

function groupByKind({
  systemPrompts,
  tools,
  memoryFiles,
  memory = [],
}: FixedPart): Record<FixedKind | "deferredTools", KindContents> {
  const toolsOfKind = (kind: FixedToolKind): KindContents => ({
    texts: [],
    tools: tools.filter((tool) => classifyDefinition(tool) === kind).map(withoutDeferral),
  });
  return {
    systemPrompt: { texts: systemPrompts, tools: [] },
    memory: { texts: memory, tools: [] },
    // A text that names its file is sent as it is.
    memoryFiles: {
      texts: memoryFiles.map(({ path, text }) => (text.includes(path) ? text : `${path}\n${text}`)),
      tools: [],
    },
    tools: toolsOfKind("tools"),
    mcpTools: toolsOfKind("mcpTools"),
    deferredTools: toolsOfKind("deferredTools"),
  };
}

type FixedToolKind = "tools" | "mcpTools" | "deferredTools";

/** A deferred MCP tool counts as deferred, because it is not in the window. */
function classifyDefinition(tool: ToolDefinition): FixedToolKind {
  if (tool["defer_loading"] === true) return "deferredTools";
  return mcpNamePattern.test(tool.name) ? "mcpTools" : "tools";
}

const mcpNamePattern = /^mcp__.+?__./;

/** A definition as it appears in the window, without the deferral flag. */
function withoutDeferral(tool: ToolDefinition): ToolDefinition {
  const fields = Object.entries(tool).filter(([field]) => field !== "defer_loading");
  return { name: tool.name, ...Object.fromEntries(fields) };
}

/**
 * Definitions are mostly sentences and a few repeated words: measured as JSON, like inputs and results, they would
 * count double.
 */
const definitionTexts = (tools: readonly ToolDefinition[]): readonly string[] =>
  tools.map((tool) => JSON.stringify(tool));

function measureContents(texts: readonly string[], countText: CountText): ByteCounts {
  const bytes = noBytes();
  for (const text of texts) {
    measureText(text, bytes);
    bytes.counted += countText(text);
  }
  return bytes;
}

const toolOverheadTokens = (model: string | undefined): number =>
  model !== undefined && /claude/i.test(model) ? toolOverhead(findModel(model)?.id ?? model).auto : 0;
