import type { CacheMissReason } from "palimpsest/internal/schema/wire/reply-message";
import { fingerprintBlocksMax, fingerprintsMax } from "../limits.ts";
import {
  type Level,
  type Prompt,
  type PromptBlock,
  wholeTokens,
  type Withheld,
} from "palimpsest/internal/cache/prompt";
import { LruMap } from "palimpsest/internal/cache/lru-map";

/** A request, as far as a later one can be compared with it. */
export interface FingerprintInput {
  readonly prompt: Prompt;
  readonly model: string;
  readonly speed: "standard" | "fast";
  /** A message of another workspace is treated as unknown. */
  readonly workspace: string;
  /** Ids of all results that it deletes by reference, whether the cache held them or not. */
  readonly deleting: readonly string[];
}

interface FingerprintLimits {
  readonly requestsMax: number;
  readonly blocksMax: number;
}

/**
 * Answers `diagnostics.previous_message_id`: why could this request not read what an earlier one wrote? For each
 * request the hashes of its blocks are kept, as a list from the last to the first. Requests that share a prefix share
 * its nodes, so a conversation costs its blocks, not its blocks times its turns.
 */
export class Fingerprints {
  readonly #printByMessage: LruMap<string, Fingerprint>;
  readonly #nodeByKey = new Map<string, ChainNode>();
  readonly #blocksMax: number;

  constructor({ requestsMax, blocksMax }: FingerprintLimits = defaultLimits) {
    this.#printByMessage = new LruMap(requestsMax);
    this.#blocksMax = blocksMax;
  }

  /** Number of blocks kept, over all requests. */
  get blocks(): number {
    return this.#nodeByKey.size;
  }

  get size(): number {
    return this.#printByMessage.size;
  }

  /** Costs only the blocks that no earlier request had. A request that exceeds the limit by itself is not kept. */
  remember(messageId: string, { prompt, model, speed, workspace }: FingerprintInput): void {
    this.#release(this.#printByMessage.take(messageId));
    const last = this.#intern(prompt);
    if (last !== undefined) last.holders += 1;
    this.#release(
      this.#printByMessage.set(messageId, {
        last,
        tokens: wholeTokens(prompt),
        salts: prompt.salts,
        withheld: prompt.withheld,
        model,
        speed,
        workspace,
      }),
    );
    while (this.#nodeByKey.size > this.#blocksMax && this.#printByMessage.oldest !== undefined)
      this.#release(this.#printByMessage.take(this.#printByMessage.oldest));
  }

  /**
   * Null if nothing diverged: the earlier prompt is a prefix of this one. Otherwise the first divergence: model or
   * speed, then tools, system and messages. A parameter that invalidates a level (`tool_choice` or thinking for
   * messages) counts as a change of that level; a result that was deleted and no longer is counts as a change of its
   * message. The tokens are those of the earlier prompt, from the first block that cannot be read to its end. Costs the
   * blocks in which the two differ.
   */
  compare(previousMessageId: string, now: FingerprintInput): CacheMissReason | null {
    const { model, speed, workspace } = now;
    const earlier = this.#printByMessage.get(previousMessageId);
    if (earlier === undefined || earlier.workspace !== workspace) return { type: "previous_message_not_found" };
    const { level, sharedTokens } = firstDivergence(earlier, now);
    if (earlier.model !== model)
      return { type: "model_changed", cache_missed_input_tokens: countTokensBehind(earlier, 0) };
    const missed = countTokensBehind(earlier, sharedTokens);
    if (earlier.speed !== speed) return { type: "model_changed", cache_missed_input_tokens: missed };
    return level === undefined ? null : { type: `${level}_changed`, cache_missed_input_tokens: missed };
  }

  #intern(prompt: Prompt): ChainNode | undefined {
    let known = prompt.blocks.length;
    let last: ChainNode | undefined;
    while (known > 0 && last === undefined) {
      const block = prompt.blocks[known - 1];
      last = block === undefined ? undefined : this.#nodeByKey.get(nodeKey(prompt, block));
      if (last === undefined) known -= 1;
    }
    for (const block of prompt.blocks.slice(known)) {
      const node = nodeBehind(last, { block, key: nodeKey(prompt, block) });
      if (last !== undefined) last.holders += 1;
      this.#nodeByKey.set(node.key, node);
      last = node;
    }
    return last;
  }

  #release(print: Fingerprint | undefined): void {
    let node = print?.last;
    while (node !== undefined) {
      node.holders -= 1;
      if (node.holders > 0) return;
      this.#nodeByKey.delete(node.key);
      node = node.before;
    }
  }
}

interface Fingerprint extends Omit<FingerprintInput, "prompt" | "deleting"> {
  readonly last: ChainNode | undefined;
  /** Tokens of everything that was sent. */
  readonly tokens: number;
  readonly withheld: Withheld | undefined;
  readonly salts: Prompt["salts"];
}

interface ChainNode {
  readonly key: string;
  readonly chain: string;
  readonly part: Level;
  readonly before: ChainNode | undefined;
  /** Blocks up to and including this one. */
  readonly count: number;
  readonly tokensUpTo: number;
  /** Tokens before the first block of a level; one object is shared by all blocks of a level. */
  readonly tokensBefore: Readonly<Record<Level, number>>;
  /** Nodes and requests that point here; at zero the node is dropped. */
  holders: number;
}

const defaultLimits: FingerprintLimits = { requestsMax: fingerprintsMax, blocksMax: fingerprintBlocksMax };

/** Token counts depend on the model, which is part of every salt. */
const nodeKey = ({ salts }: Prompt, { level, chain }: PromptBlock): string =>
  `${salts.tools}\u0000${level}\u0000${chain}`;

function nodeBehind(before: ChainNode | undefined, { block, key }: { block: PromptBlock; key: string }): ChainNode {
  const { chain, level, tokensUpTo } = block;
  const start = tokensUpTo - block.tokens;
  return {
    key,
    chain,
    part: blockPart(block),
    before,
    count: (before?.count ?? 0) + 1,
    tokensUpTo,
    tokensBefore: tokensBefore(before, { level, start }),
    holders: 0,
  };
}

function tokensBefore(
  before: ChainNode | undefined,
  { level, start }: { readonly level: Level; readonly start: number },
): ChainNode["tokensBefore"] {
  const known = before?.tokensBefore ?? { tools: 0, system: Infinity, messages: Infinity };
  switch (level) {
    case "tools":
      return known;
    case "system":
      return known.system === Infinity ? { ...known, system: start } : known;
    case "messages":
      return known.messages === Infinity ? { ...known, system: Math.min(known.system, start), messages: start } : known;
  }
}

/** Some tools belong to the system level for the cache; for the client they are still tools. */
const blockPart = ({ path, level }: PromptBlock): Level => (path.startsWith("tools.") ? "tools" : level);

const levels: readonly Level[] = ["tools", "system", "messages"];

interface Divergence {
  readonly level?: Level;
  /** Tokens of the earlier prompt that the later one can read. */
  readonly sharedTokens: number;
}

function firstDivergence(earlier: Fingerprint, { prompt, deleting }: FingerprintInput): Divergence {
  // A chain hash covers everything up to its block, so the first match from the end is the last shared block.
  let shared = earlier.last;
  let firstDifferent: ChainNode | undefined;
  while (shared !== undefined && prompt.blocks[shared.count - 1]?.chain !== shared.chain) {
    firstDifferent = shared;
    shared = shared.before;
  }
  const now = prompt.blocks[shared?.count ?? 0];
  const byBlocks =
    firstDifferent === undefined ? [] : [firstDifferent.part, ...(now === undefined ? [] : [blockPart(now)])];
  const bySalts = levels.find((level) => earlier.salts[level] !== prompt.salts[level]);
  const beforeForgotten = tokensBeforeForgotten(earlier, deleting);
  const changed = new Set<Level>([
    ...byBlocks,
    ...(bySalts === undefined ? [] : [bySalts]),
    ...(beforeForgotten === Infinity ? [] : ["messages" as const]),
  ]);
  const level = levels.find((name) => changed.has(name));
  if (level === undefined) return { sharedTokens: earlier.tokens };
  const beforeSalt = bySalts === undefined ? Infinity : (earlier.last?.tokensBefore[bySalts] ?? 0);
  const sharedTokens = Math.min(shared?.tokensUpTo ?? 0, beforeSalt, beforeForgotten);
  return { level, sharedTokens };
}

/** Tokens before the first result that was deleted earlier and is not now; Infinity if there is none. */
function tokensBeforeForgotten({ withheld }: Fingerprint, deleting: readonly string[]): number {
  if (withheld === undefined) return Infinity;
  const named = new Set(deleting);
  const forgotten = [...withheld.resultById].filter(([id]) => !named.has(id));
  return Math.min(Infinity, ...forgotten.map(([, { tokens, tokensUpTo }]) => tokensUpTo - tokens));
}

/** Tokens that the model was shown after the first `sentTokens` that were sent. */
function countTokensBehind({ tokens, withheld }: Fingerprint, sentTokens: number): number {
  const withheldResults = [...(withheld?.resultById.values() ?? [])].filter(
    ({ tokensUpTo }) => tokensUpTo > sentTokens,
  );
  return tokens - sentTokens - withheldResults.reduce((sum, result) => sum + result.tokens, 0);
}
