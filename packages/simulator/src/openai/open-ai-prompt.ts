import { countBlockTokens, countTokens } from "../prompt/count-tokens.ts";
import { shortHash } from "../prompt/canonical-block.ts";
import { knownBlocksMax, promptSliceChars } from "../limits.ts";
import { LruMap } from "palimpsest/internal/cache/lru-map";
import {
  type Item,
  type Part,
  type Ttl,
  type OpenAiRequest,
  type RequestTool,
  mediaBlock,
  resolveServiceTier,
} from "./open-ai-request.ts";

/** A request as the model is shown it, hashed slice by slice: a chain covers everything up to its slice. */
export interface OpenAiPrompt {
  readonly salts: Salts;
  readonly slices: readonly Slice[];
  /** Ends of items, in order, by which two prompts are compared. */
  readonly ends: readonly Slice[];
  readonly breakpoints: readonly Breakpoint[];
  readonly tokens: number;
  readonly chain: string;
}

export interface Slice {
  readonly chain: string;
  readonly tokensUpTo: number;
}

/** `turn`: a place after which the model replied, so where an earlier request ended. `end`: the end of this request. */
export interface Breakpoint extends Slice {
  readonly kind: "explicit" | "turn" | "end";
  readonly ttl?: Ttl;
}

/** What two prompts must have in common, besides their content, to share anything. */
export interface Salts {
  readonly model: string;
  readonly serviceTier: string;
  readonly cacheKey: string;
  readonly tools: string;
  readonly format: string;
  readonly effort: string;
  readonly verbosity: string;
  /** The latest compaction, which the prompt begins with; empty if there is none. */
  readonly compaction: string;
}

/** An item whose seal was opened. */
export type ShownItem =
  | Extract<Item, { kind: "message" | "call" | "output" | "tools" }>
  | { readonly kind: "reasoning"; readonly thought: string; readonly chain: string }
  | { readonly kind: "compaction"; readonly summary: string };

/** Token counts of slices by their chain, so that a conversation's old slices are not counted again. */
export type KnownSlices = LruMap<string, number>;
export const createKnownSlices = (): KnownSlices => new LruMap(knownBlocksMax);

interface BuildPromptInput {
  readonly request: OpenAiRequest;
  readonly modelId: string;
  readonly items: readonly ShownItem[];
  readonly known: KnownSlices;
  /**
   * `bound`: reasoning is valid only after the prefix that it was made with; once one item is discarded, all later ones
   * are.
   */
  readonly binding: "bound" | "free";
}

export interface BuiltPrompt {
  readonly prompt: OpenAiPrompt;
  /** Without discarded reasoning. */
  readonly items: readonly ShownItem[];
}

export function buildPrompt(inputs: BuildPromptInput): BuiltPrompt {
  const { request, modelId, items, known, binding } = inputs;
  const walk = new PromptWalk(known);
  for (const tool of request.tools) walk.tool(tool);
  if (request.format !== undefined) walk.add(`format:${JSON.stringify(request.format)}`, 0);
  if (request.instructions !== undefined) walk.message("developer", [{ kind: "text", text: request.instructions }]);
  const shown: ShownItem[] = [];
  let isBroken = false;
  let previous: ShownItem | undefined;
  for (const item of items) {
    if (item.kind === "reasoning" && binding === "bound" && (isBroken || item.chain !== walk.chain)) {
      isBroken = true;
      continue;
    }
    if (isModelItem(item) && previous !== undefined && !isModelItem(previous)) walk.mark({ kind: "turn" });
    walk.item(item);
    shown.push(item);
    previous = item;
  }
  walk.mark({ kind: "end" });
  return { prompt: { ...walk.read(), salts: promptSalts(inputs, modelId) }, items: shown };
}

const isModelItem = (item: ShownItem): boolean =>
  item.kind === "call" || item.kind === "reasoning" || (item.kind === "message" && item.role === "assistant");

function promptSalts({ request, items }: BuildPromptInput, model: string): Salts {
  const compaction = items.find((item) => item.kind === "compaction");
  return {
    model,
    serviceTier: resolveServiceTier(request.serviceTier),
    cacheKey: request.cache.key ?? "",
    tools: shortHash(JSON.stringify(request.tools.map(toolText))),
    format: request.format === undefined ? "" : shortHash(JSON.stringify(request.format)),
    effort: request.reasoning.effort ?? "",
    verbosity: request.verbosity ?? "",
    compaction: compaction === undefined ? "" : shortHash(compaction.summary),
  };
}

/** A function needs no kind: it was the only one once, and its tokens stay the same. */
function toolText(tool: RequestTool): string {
  if (tool.kind === "hosted") return tool.sent;
  const { kind, ...shown } = tool;
  return JSON.stringify(kind === "function" ? shown : tool);
}

/** Overhead of a message, a call, a result or a definition. */
const aroundTokens = 4;

/** Adds up a prompt from its beginning. A reply continues it, so that its reasoning is bound to its prefix. */
export class PromptWalk {
  readonly #known: KnownSlices;
  readonly #slices: Slice[] = [];
  readonly #ends: Slice[] = [];
  readonly #breakpoints: Breakpoint[] = [];
  #chain: string;
  #tokens = 0;

  constructor(known: KnownSlices, chain = "") {
    this.#known = known;
    this.#chain = chain;
  }

  get chain(): string {
    return this.#chain;
  }

  item(item: ShownItem): void {
    switch (item.kind) {
      case "message":
        this.message(item.role, item.parts);
        break;
      case "call":
        this.add(`call:${item.callId}:${item.name}:${item.arguments}`, aroundTokens);
        break;
      case "output":
        this.message(`output:${item.callId}`, item.parts);
        break;
      case "tools":
        for (const tool of item.tools) this.tool(tool);
        break;
      case "reasoning":
        this.add(`reasoning:${item.thought}`, 0);
        break;
      case "compaction":
        this.add(`compaction:${item.summary}`, aroundTokens);
        break;
    }
    this.#ends.push({ chain: this.#chain, tokensUpTo: this.#tokens });
  }

  tool(tool: RequestTool): void {
    this.add(`tool:${toolText(tool)}`, aroundTokens);
  }

  message(role: string, parts: readonly Part[]): void {
    this.#slice(`role:${role}`, () => aroundTokens);
    for (const part of parts) {
      if (part.kind === "text") this.add(part.text, 0);
      else this.#slice(JSON.stringify({ ...part, mark: null, sent: null }), () => countBlockTokens(mediaBlock(part)));
      if (part.mark !== undefined) this.mark({ kind: "explicit", ...part.mark });
    }
  }

  /** Cuts the text into slices of one length, so that two texts that begin alike share their first slices. */
  add(text: string, aroundText: number): void {
    for (let at = 0; at < text.length; at += promptSliceChars) {
      const slice = text.slice(at, at + promptSliceChars);
      this.#slice(`text:${slice}`, () => countTokens(slice) + (at === 0 ? aroundText : 0));
    }
  }

  mark(kind: Pick<Breakpoint, "kind" | "ttl">): void {
    this.#breakpoints.push({ ...kind, chain: this.#chain, tokensUpTo: this.#tokens });
  }

  read(): Omit<OpenAiPrompt, "salts"> {
    return {
      slices: this.#slices,
      ends: this.#ends,
      breakpoints: this.#breakpoints,
      tokens: this.#tokens,
      chain: this.#chain,
    };
  }

  #slice(text: string, count: () => number): void {
    this.#chain = shortHash(`${this.#chain}\u0000${text}`);
    const known = this.#known.get(this.#chain);
    const tokens = known ?? count();
    if (known === undefined) this.#known.set(this.#chain, tokens);
    this.#tokens += tokens;
    this.#slices.push({ chain: this.#chain, tokensUpTo: this.#tokens });
  }
}
