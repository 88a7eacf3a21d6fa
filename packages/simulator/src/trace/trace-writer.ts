import type { Millis } from "palimpsest/internal/schema/brand";
import { isObject, isArray, type Json, parseJson } from "palimpsest/internal/schema/json";
import { maskJson } from "palimpsest/internal/export/mask-secrets";
import { maskSecrets } from "palimpsest/internal/text/find-secrets";
import { extension } from "../extension.ts";
import { formatFault, type Fault } from "../fault/fault.ts";
import type { Iteration } from "../reply/iteration.ts";
import { traceBasesMax, tracedBlocksMax, tracedValueCharsMax, traceWaitingBytesMax } from "../limits.ts";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import type { PromptBlock, Prompt } from "palimpsest/internal/cache/prompt";
import { pathLevel, type RequestLine, type TraceLine, traceVersion } from "./trace-line.ts";
import type { Prices } from "palimpsest/internal/schema/model";
import type { ReplyMessage, SampledUsage } from "palimpsest/internal/schema/wire/reply-message";
import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { BreakpointOutcome, CachePlan } from "palimpsest/internal/cache/prompt-cache";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

interface TraceWriterDeps {
  /**
   * Writes one line without its line end. Keeps the order of the calls. Must not reject: a trace never breaks a reply.
   */
  readonly write: (line: string) => Promise<void>;
}

interface BaseRequest {
  readonly n: number;
  readonly blocks: readonly PromptBlock[];
}

/**
 * Writes what goes through the simulator as lines (`trace-line.ts`). A request costs lines only for what is new in it:
 * the rest refers to an earlier request. Secrets in blocks, replies and errors are masked. The work per request grows
 * with its blocks; the memory is limited.
 */
export class TraceWriter {
  readonly #deps: TraceWriterDeps;
  readonly #blocksMax: number;
  readonly #known = new Set<string>();
  /** Newest first. */
  #bases: readonly BaseRequest[] = [];

  constructor(deps: TraceWriterDeps, blocksMax: number = tracedBlocksMax) {
    this.#deps = deps;
    this.#blocksMax = blocksMax;
  }

  begin({ seed, startedAt }: { readonly seed: number; readonly startedAt: Millis }): Promise<void> {
    return this.#write([{ type: "trace", version: traceVersion, seed, startedAt: toIso(startedAt) }]);
  }

  /** Resolves once the lines are accepted; they stand in the trace in the order of the calls, even if calls overlap. */
  request(request: TracedRequest): Promise<void> {
    const blocks = request.prompt?.blocks ?? [];
    const { base, shared } = this.#nearest(blocks);
    const fresh = blocks.slice(shared);
    const line: RequestLine = {
      type: "request",
      n: request.n,
      id: request.id,
      at: toIso(request.at),
      workspace: request.workspace,
      model: request.model,
      endpoint: request.endpoint,
      betas: [...request.betas],
      params: pickParams(request.body),
      ...(request.prompt === undefined ? {} : { salts: request.prompt.salts }),
      blocks: {
        base,
        shared,
        added: fresh.map(blockTuple),
        marks: blocks.flatMap(({ breakpoint }, at) => (breakpoint === undefined ? [] : [[at, breakpoint]])),
      },
      ...(request.cache === undefined
        ? {}
        : { cache: { hit: request.cache.hit, breakpoints: [...request.cache.breakpoints] } }),
      faults: request.faults.map(formatFault),
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
        ...(beganAt === undefined ? {} : { beganAt: toIso(beganAt) }),
        ...(message === undefined ? {} : { messageId: message.id, stopReason: message.stop_reason }),
        ...(usage === undefined ? {} : { usage: { ...usage } }),
        ...(split === undefined ? {} : { split }),
        ...(iterations === undefined ? {} : { iterations: iterations.map(pickBilled) }),
        ...(cost === undefined ? {} : { costUsd: cost.usd, costUsdByKind: cost.usdByKind }),
        ...(pricesUsdPerMTok === undefined ? {} : { pricesUsdPerMTok }),
        ...(message === undefined ? {} : { content: message.content.map((block) => maskJson(block, maskSecrets)) }),
        ...(message?.diagnostics === undefined ? {} : { diagnostics: message.diagnostics }),
        ...(message === undefined ? {} : extension.trace.write(message)),
        ...(edits.length === 0 ? {} : { appliedEdits: [...edits] }),
        ...(inputTokens === undefined ? {} : { inputTokens }),
        ...(error === undefined ? {} : { error: { type: error.type, message: maskSecrets(error.message) } }),
      },
    ]);
  }

  /** The recent request that shares the longest prefix; among several, the newest. */
  #nearest(blocks: readonly PromptBlock[]): { readonly base: number | null; readonly shared: number } {
    let found: { base: number | null; shared: number } = { base: null, shared: 0 };
    for (const base of this.#bases) {
      // A prefix longer than the longest so far has the block after that one too.
      if (base.blocks.length <= found.shared || !isSame(base.blocks[found.shared], blocks[found.shared])) continue;
      const shared = countSharedBlocks(base.blocks, blocks);
      if (shared > found.shared) found = { base: base.n, shared };
    }
    return found;
  }

  /** The line with a block's content, unless the trace has it. */
  #content({ hash, level, type, tokens, path, shown }: PromptBlock, body: object): readonly TraceLine[] {
    const known = this.#known.delete(hash);
    this.#known.add(hash);
    if (this.#known.size > this.#blocksMax) {
      const [oldest] = this.#known;
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    if (known) return [];
    const value = shown === undefined ? blockValue(body, path) : blockValue({ shown }, "shown");
    return [{ type: "block", hash, level, blockType: type, tokens, ...cutForTrace(maskJson(value, maskSecrets)) }];
  }

  /** Starts all writes at once, so that lines of another request do not come in between. */
  async #write(lines: readonly TraceLine[]): Promise<void> {
    await Promise.all(lines.map((line) => this.#deps.write(JSON.stringify(line))));
  }
}

const pickBilled = ({ type, split, outputTokens }: Iteration): Iteration => ({ type, split, outputTokens });

function countSharedBlocks(old: readonly PromptBlock[], now: readonly PromptBlock[]): number {
  const most = Math.min(old.length, now.length);
  for (let at = 0; at < most; at += 1) if (!isSame(old[at], now[at])) return at;
  return most;
}

const isSame = (old: PromptBlock | undefined, now: PromptBlock | undefined): boolean =>
  old?.hash === now?.hash && old?.path === now?.path && old?.tokens === now?.tokens && old?.level === now?.level;

function pickParams(body: object): RequestLine["params"] {
  const read = jsonValue(Object.fromEntries(Object.entries(body).filter(([name]) => !fieldsElsewhere.has(name))));
  if (!isObject(read)) return {};
  const { safeguards } = read;
  return safeguards === undefined ? read : { ...read, safeguards: pickTypes(safeguards) };
}

/** Of safeguards only the types: they describe the user's folders, rules and repository. */
const pickTypes = (safeguards: Json): Json =>
  isArray(safeguards)
    ? safeguards.map((safeguard) => (isObject(safeguard) ? { type: safeguard["type"] ?? null } : {}))
    : [];

const fieldsElsewhere: ReadonlySet<string> = new Set(["model", "tools", "system", "messages"]);

const blockTuple = ({ hash, tokens, path, level }: PromptBlock): RequestLine["blocks"]["added"][number] =>
  pathLevel(path) === level ? [hash, tokens, path] : [hash, tokens, path, level];

const toIso = (at: Millis): string => new Date(at).toISOString();

/** The value at a prompt's path (`messages.3.content.0`) in a request's body; null if there is none. */
export function blockValue(body: object, path: string): Json {
  let value: unknown = body;
  for (const step of path.split(".")) {
    // A string in place of blocks is one block.
    if (typeof value === "string") return { type: "text", text: value };
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return null;
    value = Object.getOwnPropertyDescriptor(value, step)?.value;
  }
  if (typeof value === "string") return { type: "text", text: value };
  return stripMarkers(jsonValue(value));
}

/** A value as JSON would carry it. */
const jsonValue = (value: unknown): Json => (value === undefined ? null : parseJson(JSON.stringify(value)));

/** The value as a trace holds it: a long one as the beginning of its JSON. */
export function cutForTrace(value: Json): { readonly value: Json; readonly cut?: { readonly ofChars: number } } {
  const json = JSON.stringify(value);
  if (json.length <= tracedValueCharsMax) return { value };
  return { value: json.slice(0, tracedValueCharsMax), cut: { ofChars: json.length } };
}

/** Markers are not part of a block's hash, so they are not part of the content stored under the hash. */
function stripMarkers(value: Json): Json {
  if (!isObject(value)) return value;
  const { cache_control: _marker, ...rest } = value;
  if (!isArray(rest["content"])) return rest;
  return { ...rest, content: rest["content"].map(stripMarkers) };
}

/** A request, as it is written to the trace. */
export interface TracedRequest {
  /** Increases from request to request; the reply has the same number. */
  readonly n: number;
  /** For example `req_…`. */
  readonly id: string;
  readonly at: Millis;
  readonly workspace: string;
  readonly model: string;
  /** For example `/v1/messages`. */
  readonly endpoint: string;
  readonly betas: readonly string[];
  /** As it came or as it was read: blocks are looked up in it by the prompt's paths. */
  readonly body: object;
  /** Absent if the request was refused before it became one. */
  readonly prompt?: Prompt | undefined;
  /** Absent if the cache was not consulted. */
  readonly cache?: TracedCache | undefined;
  readonly faults: readonly Fault[];
}

/** Positions count the prompt's blocks from 0. */
interface TracedCache {
  /** The block up to which the prompt was read from the cache. */
  readonly hit: number | null;
  readonly breakpoints: readonly TracedBreakpoint[];
}

interface TracedBreakpoint {
  readonly at: number;
  /** The entry that its look-back found, and whose life it extends. */
  readonly found: { readonly at: number; readonly lifetime: Lifetime } | null;
  /** `read`: the entry found is at this very block; `not_written`: a longer prefix was read. */
  readonly outcome: "read" | "written" | "not_written" | "below_minimum";
}

/** The end of a request, whatever its outcome. */
export interface TracedReply {
  readonly n: number;
  readonly status: number;
  /** `broken`: the client did not get all of it. */
  readonly outcome: "delivered" | "broken" | "refused";
  /** When the response began: from then on other requests may read what it wrote to the cache. */
  readonly beganAt?: Millis | undefined;
  readonly message?: ReplyMessage;
  /** For a reply that is not a message: one of the OpenAI API. */
  readonly usage?: SampledUsage;
  readonly cost?: TracedCost;
  /** How the request's prompt was billed; the message's usage may be wrong because of a fault. */
  readonly split?: UsageSplit;
  /** If the server compacted: everything that was billed, in order; the first belongs to the request's prompt. */
  readonly iterations?: readonly Iteration[] | undefined;
  /** The prices that were applied, also for kinds that this reply has no tokens of. */
  readonly pricesUsdPerMTok?: Readonly<Prices>;
  /** The result of a token count. */
  readonly inputTokens?: number;
  readonly error?: { readonly type: string; readonly message: string } | undefined;
}

interface TracedCost {
  readonly usd: number;
  readonly usdByKind: Readonly<Prices>;
}

export const traceCache = ({ hit, breakpoints }: CachePlan): TracedCache => ({
  hit: hit?.position ?? null,
  breakpoints: breakpoints.map((outcome) => traceBreakpoint(outcome, hit?.position ?? -1)),
});

/** `highest`: position up to which the prompt was read; nothing is written at it or before it. */
function traceBreakpoint(outcome: BreakpointOutcome, highest: number): TracedBreakpoint {
  const { position: at } = outcome;
  const behind = at > highest ? "written" : "not_written";
  switch (outcome.kind) {
    case "below-minimum":
      return { at, found: null, outcome: "below_minimum" };
    case "miss":
      return { at, found: null, outcome: behind };
    case "hit": {
      const { position, lifetime } = outcome.hit;
      return { at, found: { at: position, lifetime }, outcome: position === at ? "read" : behind };
    }
  }
}

interface TraceFileDeps {
  readonly path: string;
  /** Called at most once: from then on lines are dropped. */
  readonly onError: (error: Error) => void;
}

type TraceFileOutcome =
  | { readonly kind: "open"; readonly file: TraceFile }
  /** A trace is one run of the simulator: an existing file is neither continued nor replaced. */
  | { readonly kind: "exists" };

/** Rejects if the operating system refuses. Only the owner may read the file: it holds everything that was sent. */
export async function openTraceFile({ path, onError }: TraceFileDeps): Promise<TraceFileOutcome> {
  const handle = await open(path, "a", 0o600);
  if ((await handle.stat()).size > 0) {
    await handle.close();
    return { kind: "exists" };
  }
  return { kind: "open", file: new TraceFile(handle, onError) };
}

/** Writes lines to a file in the order of the calls, several in one write. Nothing here rejects. */
export class TraceFile {
  readonly #handle: Pick<FileHandle, "appendFile" | "close">;
  readonly #onError: (error: Error) => void;
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** Present while lines are written; resolves when none is waiting. */
  #draining: Promise<void> | undefined;
  #state: "open" | "broken" | "closed" = "open";
  #isReported = false;

  constructor(handle: Pick<FileHandle, "appendFile" | "close">, onError: (error: Error) => void) {
    this.#handle = handle;
    this.#onError = onError;
  }

  /** Resolves at once, unless so much waits for the disk that the caller must wait too. */
  readonly write = async (line: string): Promise<void> => {
    if (this.#state !== "open") return;
    this.#waiting.push(`${line}\n`);
    this.#waitingBytes += Buffer.byteLength(line) + 1;
    this.#draining ??= this.#drain();
    if (this.#waitingBytes > traceWaitingBytesMax) await this.#draining;
  };

  /** Resolves when everything written so far is in the file, or has been reported as failed. */
  async flush(): Promise<void> {
    await this.#draining;
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    await this.flush();
    this.#state = "closed";
    await this.#handle.close().catch((error: unknown) => this.#fail(error));
  }

  async #drain(): Promise<void> {
    // Lines of the same tick are written together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      try {
        await this.#handle.appendFile(lines.join(""));
      } catch (error) {
        this.#waiting = [];
        this.#fail(error);
      }
    }
    this.#draining = undefined;
  }

  #fail(error: unknown): void {
    if (this.#state === "open") this.#state = "broken";
    if (this.#isReported) return;
    this.#isReported = true;
    this.#onError(error instanceof Error ? error : new Error(String(error)));
  }
}

/** The lines of a file, including an unfinished last one. Only a newline ends a line: JSON may hold U+2028. */
export async function* fileLines(path: string): AsyncGenerator<string> {
  let parts: string[] = [];
  const chunks: AsyncIterable<string> = createReadStream(path, { encoding: "utf8" });
  for await (const chunk of chunks) {
    const [first = "", ...others] = chunk.split("\n");
    parts.push(first);
    for (const next of others) {
      yield parts.join("");
      parts = [next];
    }
  }
  const last = parts.join("");
  if (last !== "") yield last;
}
