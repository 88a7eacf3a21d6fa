import type { Message, TextBlock } from "../schema/block.ts";
import { type Millis, tokens, type Tokens } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import { formatCount } from "../text/format-count.ts";
import type { Usage } from "../schema/usage.ts";
import type { ToolDefinition } from "../tokens/fixed-part.ts";
import { type Lifetime, millisByLifetime } from "./lifetime.ts";
import { breakShareMin, breakTokensMin } from "./limits.ts";

/** The part of a request that the cache depends on. */
export interface SentRequest {
  readonly model: string;
  readonly tools: readonly ToolDefinition[];
  readonly system: readonly TextBlock[];
  readonly thinking?: JsonObject | undefined;
  readonly betas: readonly string[];
  readonly messages: readonly Message[];
  /** The lifetime of the newest breakpoint. */
  readonly lifetime: Lifetime;
  /** When the request was sent. */
  readonly at: Millis;
}

/** What a reply says about the cache when it begins. */
interface ReadUsage extends Pick<Usage, "cacheRead" | "cacheWrite"> {
  /** Tokens of results that the provider left out of what it read. Absent if it was not asked to. */
  readonly withheldTokens?: Tokens | undefined;
}

export type ExpectedBreak = "compaction" | "clear" | "withheld" | "model" | "tools" | "undo";

/** Tools are named rather than described: every tool can be looked up by its name. */
export type BreakCause =
  | { readonly kind: "model"; readonly before: string; readonly now: string }
  | { readonly kind: "betas"; readonly added: readonly string[]; readonly removed: readonly string[] }
  | { readonly kind: "tools"; readonly names: readonly string[] }
  /** Index of the first block of the system prompt that differs. */
  | { readonly kind: "system"; readonly block: number }
  | { readonly kind: "thinking" }
  | { readonly kind: "message"; readonly message: number; readonly block: number }
  /** An edit between two runs of the session. `repliedAt` is when the reply before it came. */
  | { readonly kind: "edit"; readonly edit: string; readonly repliedAt: Millis }
  /** The server cleared by its own rule, as the request asked. Everything behind what it left out is another prefix. */
  | { readonly kind: "server-cleared"; readonly tokens: number }
  /** Nothing that we sent changed: the provider lost the prefix, or its breakpoints did not find it. */
  | { readonly kind: "unknown" };

export interface CacheBreak {
  readonly expectedTokens: Tokens;
  readonly readTokens: Tokens;
  readonly lostTokens: Tokens;
  readonly cause: BreakCause;
}

export interface HashDep {
  readonly hash: (text: string) => string;
}

/**
 * Notices when a request could not read what the one before it left in the cache. Each line of requests has its own
 * detector:
 *
 *     no baseline  -- a reply -->                       baseline: what its request read and wrote
 *     baseline     -- a reply that read enough -->      the new request's
 *     baseline     -- a reply that read less -->        the new request's; a break, unless one was expected or time was up
 *     baseline     -- a compaction is expected -->      no baseline
 *
 * Results that the server withholds count as read on both sides, so that withholding more is no loss. An expectation
 * holds for the next reply only. Each tool, block and message is hashed once.
 */
export class BreakDetector {
  readonly #prints: Fingerprints;
  #baseline: { readonly print: Fingerprint; readonly tokens: Tokens } | undefined;
  #expected: ExpectedBreak | "foreseen" | undefined;
  #moved: BreakCause | undefined;

  /** `moved` says why the first request has another prefix than those of an earlier run. */
  constructor(prints: HashDep | Fingerprints, moved?: BreakCause) {
    this.#prints = prints instanceof Fingerprints ? prints : new Fingerprints(prints.hash);
    this.#moved = moved;
  }

  /** A detector for a line of requests that shares messages with this one. It reuses the hashes made here. */
  createSibling(): BreakDetector {
    return new BreakDetector(this.#prints);
  }

  /** What the next request should read. Undefined before the first request and after a compaction. */
  get expectedTokens(): Tokens | undefined {
    return this.#baseline?.tokens;
  }

  /** Call it before a request whose prefix changes on purpose. */
  expect(cause: ExpectedBreak): void {
    if (cause === "compaction") this.#baseline = undefined;
    this.#expected = cause;
  }

  /**
   * Call it before a request. Returns why the request can't read what the one before it left in the cache, if that is
   * known already. The break is expected then and reported only once.
   */
  foresee(request: SentRequest): BreakCause | undefined {
    const moved = this.#moved;
    this.#moved = undefined;
    if (moved !== undefined) return isExpiredEdit(moved, request) ? undefined : moved;
    const before = this.#baseline;
    if (before === undefined || this.#expected !== undefined || hasExpired(before.print, request.at)) return undefined;
    const cause = likelyCause(before.print, this.#prints.of(request));
    if (cause.kind === "unknown") return undefined;
    this.#expected = "foreseen";
    return cause;
  }

  /** Call it after a reply. */
  observe(
    request: SentRequest,
    { cacheRead, cacheWrite, withheldTokens = tokens(0) }: ReadUsage,
  ): CacheBreak | undefined {
    const before = this.#baseline;
    const expected = this.#expected;
    const print = this.#prints.of(request);
    const readTokens = tokens(cacheRead + withheldTokens);
    this.#baseline = { print, tokens: tokens(readTokens + cacheWrite) };
    this.#expected = undefined;
    // Withholding is expected, but the rest should still be read.
    const isExplained = expected !== undefined && expected !== "withheld";
    if (before === undefined || isExplained || hasExpired(before.print, request.at)) return undefined;
    const lostTokens = tokens(before.tokens - readTokens);
    if (lostTokens <= breakTokensMin || lostTokens <= before.tokens * breakShareMin) return undefined;
    return {
      expectedTokens: before.tokens,
      readTokens,
      lostTokens,
      cause: likelyCause(before.print, print),
    };
  }
}

/** One line for the user. */
export function causeText(cause: BreakCause): string {
  switch (cause.kind) {
    case "model":
      return `the model changed from ${cause.before} to ${cause.now}`;
    case "betas":
      return `beta headers changed: ${[...cause.added.map((beta) => `+${beta}`), ...cause.removed.map((beta) => `-${beta}`)].join(" ")}`;
    case "tools":
      return cause.names.length === 0 ? "the order of the tools changed" : `tools changed: ${cause.names.join(", ")}`;
    case "system":
      return `block ${cause.block} of the system prompt changed`;
    case "thinking":
      return "the thinking settings changed";
    case "message":
      return `message ${cause.message} changed at its block ${cause.block}`;
    case "edit":
      return `the context was edited since the last request: ${cause.edit}`;
    case "server-cleared":
      return `the server left out ${formatCount(cause.tokens)} tokens by its own rule, and writes what stands behind them again`;
    case "unknown":
      return "nothing sent before has changed; the provider did not find the cached prefix";
  }
}

interface Fingerprint {
  readonly model: string;
  readonly betas: readonly string[];
  readonly tools: readonly { readonly name: string; readonly hash: string }[];
  readonly system: readonly string[];
  readonly thinking: string;
  readonly messages: readonly (readonly string[])[];
  readonly at: Millis;
  readonly lifetime: Lifetime;
}

class Fingerprints {
  readonly #hash: HashDep["hash"];
  readonly #hashByValue = new WeakMap<object, string>();
  readonly #hashesByMessage = new WeakMap<Message, readonly string[]>();
  #last: { readonly messages: readonly Message[]; readonly hashes: readonly (readonly string[])[] } = {
    messages: [],
    hashes: [],
  };

  constructor(hash: HashDep["hash"]) {
    this.#hash = hash;
  }

  of({ model, betas, tools, system, thinking, messages, at, lifetime }: SentRequest): Fingerprint {
    return {
      model,
      betas: [...betas],
      tools: tools.map((tool) => ({ name: tool.name, hash: this.#hashValue(tool) })),
      system: system.map((block) => this.#hashValue(block)),
      thinking: thinking === undefined ? "" : this.#hash(JSON.stringify(thinking)),
      messages: this.#hashMessages(messages),
      at,
      lifetime,
    };
  }

  /** Most messages are those of the previous request. */
  #hashMessages(messages: readonly Message[]): readonly (readonly string[])[] {
    const { messages: before, hashes } = this.#last;
    let same = 0;
    while (same < before.length && before[same] === messages[same]) same += 1;
    const now = [...hashes.slice(0, same), ...messages.slice(same).map((message) => this.#hashMessage(message))];
    this.#last = { messages: [...messages], hashes: now };
    return now;
  }

  #hashMessage(message: Message): readonly string[] {
    const known = this.#hashesByMessage.get(message);
    if (known !== undefined) return known;
    const hashes = message.content.map((block) => this.#hashValue(block));
    this.#hashesByMessage.set(message, hashes);
    return hashes;
  }

  #hashValue(value: object): string {
    const known = this.#hashByValue.get(value);
    if (known !== undefined) return known;
    const hash = this.#hash(JSON.stringify(value));
    this.#hashByValue.set(value, hash);
    return hash;
  }
}

/** The lifetime runs from the start of the request that last wrote or read. */
const hasExpired = ({ at, lifetime }: Fingerprint, now: Millis): boolean => now - at >= millisByLifetime[lifetime];

/** An edit breaks nothing if the cache had expired by then. */
const isExpiredEdit = (moved: BreakCause, { at, lifetime }: SentRequest): boolean =>
  moved.kind === "edit" && at - moved.repliedAt >= millisByLifetime[lifetime];

/** The first difference, in the order in which a change costs most. */
function likelyCause(before: Fingerprint, now: Fingerprint): BreakCause {
  if (before.model !== now.model) return { kind: "model", before: before.model, now: now.model };
  const added = now.betas.filter((beta) => !before.betas.includes(beta));
  const removed = before.betas.filter((beta) => !now.betas.includes(beta));
  if (added.length + removed.length > 0) return { kind: "betas", added, removed };
  const tools = findChangedTools(before.tools, now.tools);
  if (tools !== undefined) return { kind: "tools", names: tools };
  const block = now.system.findIndex((hash, at) => before.system[at] !== hash);
  if (block !== -1) return { kind: "system", block };
  if (before.system.length > now.system.length) return { kind: "system", block: now.system.length };
  if (before.thinking !== now.thinking) return { kind: "thinking" };
  return findChangedMessage(before.messages, now.messages);
}

function findChangedTools(before: Fingerprint["tools"], now: Fingerprint["tools"]): readonly string[] | undefined {
  const hashBefore = new Map(before.map(({ name, hash }) => [name, hash]));
  const hashNow = new Map(now.map(({ name, hash }) => [name, hash]));
  const names = new Set(
    [...hashBefore.keys(), ...hashNow.keys()].filter((name) => hashBefore.get(name) !== hashNow.get(name)),
  );
  if (names.size > 0) return [...names];
  return before.every(({ name }, at) => now[at]?.name === name) ? undefined : [];
}

/** Messages behind the last one of the earlier request are new, not changed. So are blocks behind its last block. */
function findChangedMessage(before: Fingerprint["messages"], now: Fingerprint["messages"]): BreakCause {
  for (const [message, hashes] of before.entries()) {
    if (now[message] === hashes) continue;
    const block = hashes.findIndex((hash, at) => now[message]?.[at] !== hash);
    if (block !== -1) return { kind: "message", message, block };
    const grew = (now[message]?.length ?? 0) > hashes.length;
    if (grew && message < before.length - 1) return { kind: "message", message, block: hashes.length };
  }
  return { kind: "unknown" };
}
