import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import {
  isCompactEdit,
  hasCompactionBeta,
  compactionBetas,
  type CompactionBlock,
  isOnlyFailedCompaction,
  isFailedCompaction,
} from "../compaction/compaction-block.ts";
import { countReferencedTools } from "../prompt/tool-set.ts";
import { compactionToolReferencesMax } from "../limits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import {
  requestWithAnswer,
  type CheckInput,
  forcesTool,
  type Rule,
  type PlacedBlock,
  formatPlace,
  type Turn,
  groupTurns,
} from "./check-input.ts";
import { isServerResult } from "./check-pairing.ts";

/**
 * When a request may ask for a compaction, in combination with what, and where the blocks stand that come back. Blocks
 * with a signature are those of a compaction on demand: there is one, and it comes first. Blocks without are those of a
 * threshold, and the last one counts. Whether a signature is right is checked elsewhere. Without a compaction's beta
 * nothing is examined.
 */
export const checkCompaction: Rule = (input) =>
  hasCompactionBeta(input.betas) ? (checkCompactionRequest(input) ?? checkBlocks(input)) : undefined;

type Code =
  | "compaction_block_ambiguous"
  | "compaction_block_misplaced"
  | "compaction_incomplete_turn"
  | "compaction_nothing_to_summarize"
  | "compaction_too_many_tool_references";

const withCode = (errorCode: Code, refused: Refusal): Refusal => ({ ...refused, errorCode });

function checkCompactionRequest(input: CheckInput): Refusal | undefined {
  const { request, traits } = input;
  const edit = (request.context_management?.edits ?? []).findIndex(isCompactEdit);
  if (edit !== -1 && traits.compaction === "refused")
    return invalid("`compact_20260112` is not supported on this model", `context_management.edits.${edit}`);
  // A count accepts the parameter and ignores it.
  const answered = requestWithAnswer(input);
  if (answered?.compaction === null || answered?.compaction === undefined) return undefined;
  if (traits.compaction === "refused") return invalid("compaction is not supported on this model", "compaction");
  return (
    checkOtherFields(answered) ??
    checkEnd(groupTurns(answered.messages).filter(({ role }) => role !== "system")) ??
    checkReferences(answered)
  );
}

/** There is no reply to a request for a compaction, so the request must not say anything about its form. */
function checkOtherFields(request: MessagesRequest): Refusal | undefined {
  const { context_management, stop_sequences, output_config, output_format, max_tokens } = request;
  if (context_management !== null && context_management !== undefined)
    return invalid("`compaction` cannot be combined with `context_management`", "compaction");
  if (max_tokens === 0) return invalid("`compaction` is not supported when `max_tokens` is 0", "compaction");
  if ((stop_sequences ?? []).length > 0)
    return invalid("stop sequences are not supported with `compaction`", "stop_sequences");
  const format = output_config?.format ?? output_format ?? undefined;
  if (format !== undefined)
    return invalid("an output format is not supported with `compaction`", "output_config.format");
  return forcesTool(request) ? invalid("forced tool use is not supported with `compaction`", "tool_choice") : undefined;
}

function checkEnd(turns: readonly Turn[]): Refusal | undefined {
  const last = turns.at(-1);
  if (last === undefined || turns.every(({ blocks }) => blocks.every(({ block }) => isFailedCompaction(block))))
    return nothingToSummarise();
  return last.role === "assistant" && hasOpenCall(last)
    ? withCode(
        "compaction_incomplete_turn",
        invalid("the conversation ends in an `assistant` turn that is not finished", `messages.${last.last}`),
      )
    : undefined;
}

const nothingToSummarise = (): Refusal =>
  withCode("compaction_nothing_to_summarize", invalid("there is no content to summarize", "messages"));

/**
 * For the last turn: a call of a client's tool cannot have a result yet; a server tool's call has it in the same turn.
 */
const hasOpenCall = ({ blocks }: Turn): boolean => {
  const answeredIds = new Set(blocks.flatMap(({ block }) => (isServerResult(block) ? [block.tool_use_id] : [])));
  return blocks.some(
    ({ block }) => block.type === "tool_use" || (block.type === "server_tool_use" && !answeredIds.has(block.id)),
  );
};

function checkReferences(request: MessagesRequest): Refusal | undefined {
  const count = countReferencedTools(request);
  return count <= compactionToolReferencesMax
    ? undefined
    : withCode(
        "compaction_too_many_tool_references",
        invalid(
          `the conversation refers to ${count} distinct tools; a compaction can record ${compactionToolReferencesMax}`,
          "messages",
        ),
      );
}

type PlacedCompaction = PlacedBlock & { readonly block: CompactionBlock; readonly role: string };

function checkBlocks({ request, traits, betas }: CheckInput): Refusal | undefined {
  const found = compactionsIn(request.messages);
  if (found.length === 0) return undefined;
  if (traits.compaction === "refused")
    return invalidAt(found[0], "`compaction` blocks are not supported on this model");
  const inSystem = found.find(({ role }) => role === "system");
  if (inSystem !== undefined) return placeRefusal(inSystem, "`compaction` blocks cannot be in `system` messages");
  const blank = found.find(({ block }) => typeof block.content === "string" && block.content.trim() === "");
  if (blank !== undefined)
    return invalid("content must be null or a text that is not empty", `${formatPlace(blank)}.compaction.content`);
  const full = found.filter(({ block }) => !isFailedCompaction(block));
  if (
    full.length === 0 &&
    request.messages.every((message) => message.role === "system" || isOnlyFailedCompaction(message))
  )
    return nothingToSummarise();
  const signed = found.find(({ block }) => isSigned(block));
  return signed === undefined ? undefined : checkSigned({ request, betas, signed, full });
}

interface SignedInput extends Pick<CheckInput, "request" | "betas"> {
  readonly signed: PlacedCompaction;
  /** All blocks with content. */
  readonly full: readonly PlacedCompaction[];
}

function checkSigned({ request, betas, signed, full }: SignedInput): Refusal | undefined {
  if (!betas.has(compactionBetas.onDemand))
    return invalid("Extra inputs are not permitted", `${formatPlace(signed)}.compaction.signature`);
  if (full.length > 1)
    return withCode(
      "compaction_block_ambiguous",
      invalid("`messages` can hold one `compaction` block with content: the one that was returned last", "messages"),
    );
  if (signed.message !== 0 || signed.index !== 0)
    return placeRefusal(signed, "the `compaction` block must be the first block of the conversation");
  return (request.context_management?.edits ?? []).some(isCompactEdit)
    ? invalidAt(signed, "a signed `compaction` block cannot be combined with the `compact_20260112` edit")
    : undefined;
}

const invalidAt = (placed: PlacedCompaction | undefined, message: string): Refusal =>
  invalid(message, placed === undefined ? undefined : formatPlace(placed));

const placeRefusal = (placed: PlacedCompaction, message: string): Refusal =>
  withCode("compaction_block_misplaced", invalidAt(placed, message));

const compactionsIn = (messages: MessagesRequest["messages"]): readonly PlacedCompaction[] =>
  messages.flatMap(({ role, content }, message) =>
    typeof content === "string"
      ? []
      : content.flatMap((block, index) => (block.type === "compaction" ? [{ role, block, message, index }] : [])),
  );

const isSigned = ({ signature }: CompactionBlock): boolean => signature !== null && signature !== undefined;
