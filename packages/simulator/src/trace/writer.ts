import type { Millis } from "palimpsest/internal/schema/brand";
import { isObject } from "palimpsest/internal/schema/json";
import { extension } from "../extension.ts";
import { faultText } from "../fault-text.ts";
import type { Iteration } from "../iteration.ts";
import { traceBasesMax, tracedBlocksMax } from "../limits.ts";
import type { PromptBlock } from "palimpsest/internal/cache/prompt";
import { blockValue, jsonValue, tracedValue } from "./block-value.ts";
import { levelOf } from "./level.ts";
import { type RequestLine, type TraceLine, traceVersion } from "./line.ts";
import type { TracedReply, TracedRequest } from "./record.ts";

export interface TraceWriterDeps {
  /** One line without its end. Keeps the order of the calls. Must not reject: a trace never breaks a reply. */
  readonly write: (line: string) => Promise<void>;
}

interface Base {
  readonly n: number;
  readonly blocks: readonly PromptBlock[];
}

/**
 * Writes what goes through the simulator as lines (line.ts). A request costs lines for what is new in it: the rest is
 * named by an earlier request. The work on one request grows with its blocks, the memory has limits.
 */
export class TraceWriter {
  readonly #deps: TraceWriterDeps;
  readonly #blocksMax: number;
  readonly #known = new Set<string>();
  /** Newest first. */
  #bases: readonly Base[] = [];

  constructor(deps: TraceWriterDeps, blocksMax: number = tracedBlocksMax) {
    this.#deps = deps;
    this.#blocksMax = blocksMax;
  }

  begin({ seed, startedAt }: { readonly seed: number; readonly startedAt: Millis }): Promise<void> {
    return this.#write([{ type: "trace", version: traceVersion, seed, startedAt: isoOf(startedAt) }]);
  }

  /** Resolves once the lines are taken; they stand in the trace in the order of the calls, also of calls that overlap. */
  request(request: TracedRequest): Promise<void> {
    const blocks = request.prompt?.blocks ?? [];
    const { base, shared } = this.#nearest(blocks);
    const fresh = blocks.slice(shared);
    const line: RequestLine = {
      type: "request",
      n: request.n,
      id: request.id,
      at: isoOf(request.at),
      workspace: request.workspace,
      model: request.model,
      endpoint: request.endpoint,
      betas: [...request.betas],
      params: paramsOf(request.body),
      ...(request.prompt === undefined ? {} : { salts: request.prompt.salts }),
      blocks: {
        base,
        shared,
        added: fresh.map(toldBlock),
        marks: blocks.flatMap(({ breakpoint }, at) => (breakpoint === undefined ? [] : [[at, breakpoint]])),
      },
      ...(request.cache === undefined
        ? {}
        : { cache: { hit: request.cache.hit, breakpoints: [...request.cache.breakpoints] } }),
      faults: request.faults.map(faultText),
    };
    const contents = fresh.flatMap((block) => this.#content(block, request.body));
    if (blocks.length > 0) this.#bases = [{ n: request.n, blocks }, ...this.#bases].slice(0, traceBasesMax);
    return this.#write([...contents, line]);
  }

  reply(reply: TracedReply): Promise<void> {
    const { n, status, outcome, beganAt, message, cost, split, iterations, pricesUsdPerMTok, inputTokens, error } =
      reply;
    const usage = message?.usage ?? reply.usage;
    const edits = message?.context_management?.applied_edits ?? [];
    return this.#write([
      {
        type: "reply",
        n,
        status,
        outcome,
        ...(beganAt === undefined ? {} : { beganAt: isoOf(beganAt) }),
        ...(message === undefined ? {} : { messageId: message.id, stopReason: message.stop_reason }),
        ...(usage === undefined ? {} : { usage: { ...usage } }),
        ...(split === undefined ? {} : { split }),
        ...(iterations === undefined ? {} : { iterations: iterations.map(billed) }),
        ...(cost === undefined ? {} : { costUsd: cost.usd, costUsdByKind: cost.usdByKind }),
        ...(pricesUsdPerMTok === undefined ? {} : { pricesUsdPerMTok }),
        ...(message === undefined ? {} : { content: [...message.content] }),
        ...(message?.diagnostics === undefined ? {} : { diagnostics: message.diagnostics }),
        ...(message === undefined ? {} : extension.trace.write(message)),
        ...(edits.length === 0 ? {} : { appliedEdits: [...edits] }),
        ...(inputTokens === undefined ? {} : { inputTokens }),
        ...(error === undefined ? {} : { error: { type: error.type, message: error.message } }),
      },
    ]);
  }

  /** The recent request that shares the longest beginning; of several the newest. */
  #nearest(blocks: readonly PromptBlock[]): { readonly base: number | null; readonly shared: number } {
    let found: { base: number | null; shared: number } = { base: null, shared: 0 };
    for (const base of this.#bases) {
      // A longer beginning than the longest so far has the block behind that one too.
      if (base.blocks.length <= found.shared || !isSame(base.blocks[found.shared], blocks[found.shared])) continue;
      const shared = sharedBlocks(base.blocks, blocks);
      if (shared > found.shared) found = { base: base.n, shared };
    }
    return found;
  }

  /** A block's content, unless the trace has it. */
  #content({ hash, level, type, tokens, path, shown }: PromptBlock, body: object): readonly TraceLine[] {
    const known = this.#known.delete(hash);
    this.#known.add(hash);
    if (this.#known.size > this.#blocksMax) {
      const [oldest] = this.#known;
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    if (known) return [];
    const value = shown === undefined ? blockValue(body, path) : blockValue({ shown }, "shown");
    return [{ type: "block", hash, level, blockType: type, tokens, ...tracedValue(value) }];
  }

  /** All calls at once, so that lines of another request do not come between. */
  async #write(lines: readonly TraceLine[]): Promise<void> {
    await Promise.all(lines.map((line) => this.#deps.write(JSON.stringify(line))));
  }
}

const billed = ({ type, split, outputTokens }: Iteration): Iteration => ({ type, split, outputTokens });

function sharedBlocks(old: readonly PromptBlock[], now: readonly PromptBlock[]): number {
  const most = Math.min(old.length, now.length);
  for (let at = 0; at < most; at += 1) if (!isSame(old[at], now[at])) return at;
  return most;
}

const isSame = (old: PromptBlock | undefined, now: PromptBlock | undefined): boolean =>
  old?.hash === now?.hash && old?.path === now?.path && old?.tokens === now?.tokens && old?.level === now?.level;

function paramsOf(body: object): RequestLine["params"] {
  const read = jsonValue(Object.fromEntries(Object.entries(body).filter(([name]) => !toldOtherwise.has(name))));
  return isObject(read) ? read : {};
}

const toldOtherwise: ReadonlySet<string> = new Set(["model", "tools", "system", "messages"]);

const toldBlock = ({ hash, tokens, path, level }: PromptBlock): RequestLine["blocks"]["added"][number] =>
  levelOf(path) === level ? [hash, tokens, path] : [hash, tokens, path, level];

const isoOf = (at: Millis): string => new Date(at).toISOString();
