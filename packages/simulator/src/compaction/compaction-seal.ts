import { createHmac, timingSafeEqual } from "node:crypto";
import { isObject, tryParseJson, textField } from "palimpsest/internal/schema/json";
import { sortFields, shortHash } from "../prompt/canonical-block.ts";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { invalid, type Refusal } from "../refusal.ts";
import type { CompactionBlock } from "./compaction-block.ts";

/** The past that a summary replaces. */
interface SummarisedPast {
  /** The registry's id of the model that wrote the summary. */
  readonly model: string;
  /** Hash of everything that was sent, up to the end of what was summarised: thinking after it is bound to this. */
  readonly chain: string;
  /** Hash of the tools and the system prompt before it. */
  readonly header: string;
}

interface SealedPast extends SummarisedPast {
  /** Hashes of the block's content and tool changes as they were returned. */
  readonly content: string;
  readonly changes: string;
}

/** The parts of a compaction block that are sealed. */
interface SealInput {
  readonly content: string;
  readonly toolChanges: readonly object[] | null | undefined;
}

/**
 * Compaction blocks carry what only this simulator can make: which past they replace. On demand it is the block's
 * `signature`, and a block that differs from what was signed is refused; at a threshold it is `encrypted_content`, and
 * a block that differs counts for its text alone.
 */
export class CompactionSeal {
  readonly #key: string;

  constructor(seed: number) {
    this.#key = `compaction of the simulator, seed ${seed}`;
  }

  seal({ content, toolChanges }: SealInput, { model, chain, header }: SummarisedPast): string {
    const sealed = { model, chain, header, content: shortHash(content), changes: hashToolChanges(toolChanges) };
    return Buffer.from(JSON.stringify({ ...sealed, mac: this.#mac(sealed) }), "utf8").toString("base64");
  }

  /** Undefined if it is not ours. */
  open(source: string): SealedPast | undefined {
    const read = tryParseJson(Buffer.from(source, "base64").toString("utf8"));
    if (!isObject(read)) return undefined;
    const [model, chain, header, content, changes, mac] = sealFields.map((name) => textField(read, name));
    if (model === undefined || chain === undefined || header === undefined) return undefined;
    if (content === undefined || changes === undefined || mac === undefined) return undefined;
    const sealed = { model, chain, header, content, changes };
    const expected = Buffer.from(this.#mac(sealed));
    const found = Buffer.from(mac);
    return expected.length === found.length && timingSafeEqual(expected, found) ? sealed : undefined;
  }

  #mac({ model, chain, header, content, changes }: SealedPast): string {
    const sealed = JSON.stringify([model, chain, header, content, changes]);
    return createHmac("sha256", this.#key).update(sealed).digest("base64url");
  }
}

const sealFields = ["model", "chain", "header", "content", "changes", "mac"] as const;

/** An absent list differs from an empty one: the block must come back as it was sent. */
const hashToolChanges = (changes: SealInput["toolChanges"]): string =>
  shortHash(JSON.stringify(changes ?? null, sortFields));

/**
 * Checks that the signed block that a conversation begins with is the one that was returned. It looks at the first
 * block alone: the rules have already refused a signed block elsewhere.
 */
export function checkSignedCompaction(
  seal: CompactionSeal,
  { messages }: MessagesRequest | CountRequest,
): Refusal | undefined {
  const content = messages[0]?.content ?? "";
  const block = typeof content === "string" ? undefined : content[0];
  if (block?.type !== "compaction" || block.signature === null || block.signature === undefined) return undefined;
  const sealed = seal.open(block.signature);
  if (sealed === undefined)
    return compactionRefusal("compaction_signature_invalid", "the `signature` of the `compaction` block is not valid");
  if (sealed.content !== shortHash(block.content ?? ""))
    return compactionRefusal(
      "compaction_content_mismatch",
      "the `content` of the `compaction` block is not what was signed",
    );
  if (sealed.changes !== hashToolChanges(block.tool_changes))
    return compactionRefusal(
      "compaction_tool_changes_mismatch",
      "the `tool_changes` of the `compaction` block are not those that were returned with it",
    );
  return undefined;
}

const compactionRefusal = (errorCode: string, message: string): Refusal => ({
  ...invalid(message, "messages.0.content.0"),
  errorCode,
});

/**
 * The past that thinking after a compaction is bound to. If a model that binds thinking made the summary after the same
 * tools and system prompt, it is the past that was summarised: turns that followed then stay valid after the block.
 * Otherwise it is the block's own text: only thinking made after the block matches.
 */
export function chainBehindCompaction(
  { compactions, isBound }: { readonly compactions: CompactionSeal; readonly isBound: (modelId: string) => boolean },
  { block, header }: { readonly block: CompactionBlock; readonly header: string },
): string {
  const sealed = openBlockSeal(compactions, block);
  return sealed !== undefined && sealed.header === header && isBound(sealed.model)
    ? sealed.chain
    : shortHash(`behind ${header} ${block.content ?? ""}`);
}

function openBlockSeal(seal: CompactionSeal, block: CompactionBlock): SealedPast | undefined {
  const source = block.signature ?? block.encrypted_content;
  const sealed = source === null || source === undefined ? undefined : seal.open(source);
  return sealed?.content === shortHash(block.content ?? "") ? sealed : undefined;
}
