import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { hashOf } from "../hash.ts";
import { invalid, type Refusal } from "../refusal.ts";
import type { CompactionBlock } from "./blocks.ts";
import { changesHash, type CompactionSeal, type Sealed } from "./seal.ts";

/**
 * Whether the signed block that a conversation begins with is the one that was returned. Looks at the first block alone:
 * a signed one that stands elsewhere is refused by the rules before.
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
    return refused("compaction_signature_invalid", "the `signature` of the `compaction` block is not valid");
  if (sealed.content !== hashOf(block.content ?? ""))
    return refused("compaction_content_mismatch", "the `content` of the `compaction` block is not what was signed");
  if (sealed.changes !== changesHash(block.tool_changes))
    return refused(
      "compaction_tool_changes_mismatch",
      "the `tool_changes` of the `compaction` block are not those that were returned with it",
    );
  return undefined;
}

const refused = (errorCode: string, message: string): Refusal => ({
  ...invalid(message, "messages.0.content.0"),
  errorCode,
});

export interface BehindDeps {
  readonly compactions: CompactionSeal;
  readonly isBound: (modelId: string) => boolean;
}

/**
 * To which past thinking behind a compaction is bound: to the one that was summed up, where a model that binds thinking
 * did that behind the same tools and system prompt. So turns that followed then are valid behind the block as they
 * were. Otherwise to the block's own words: only what is thought behind it from now on matches.
 */
export function boundBehind(
  { compactions, isBound }: BehindDeps,
  { block, header }: { readonly block: CompactionBlock; readonly header: string },
): string {
  const sealed = sealedIn(compactions, block);
  return sealed !== undefined && sealed.header === header && isBound(sealed.model)
    ? sealed.chain
    : hashOf(`behind ${header} ${block.content ?? ""}`);
}

function sealedIn(seal: CompactionSeal, block: CompactionBlock): Sealed | undefined {
  const source = block.signature ?? block.encrypted_content;
  const sealed = source === null || source === undefined ? undefined : seal.open(source);
  return sealed?.content === hashOf(block.content ?? "") ? sealed : undefined;
}
