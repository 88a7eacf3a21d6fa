import { textField } from "palimpsest/internal/schema/json";
import { type OpenAiRefusal, refuseRequest } from "./open-ai-refusal.ts";
import type { Item, OpenAiRequest } from "./open-ai-request.ts";
import type { OpenAiModel } from "./open-ai-models.ts";
import { checkReasoningPlace, checkResponsesPairs } from "./check-request.ts";
import type { ShownItem } from "./open-ai-prompt.ts";
import type { ItemSeal } from "./output.ts";
import { listConversation, type ResponseStore } from "./response-store.ts";

interface ShownItemsDeps {
  readonly store: ResponseStore;
  readonly seal: ItemSeal;
}

interface ShownItemsInput {
  readonly request: OpenAiRequest;
  readonly model: OpenAiModel;
  readonly workspace: string;
}

type ShownItemsOutcome = { readonly kind: "shown"; readonly items: readonly ShownItem[] } | OpenAiRefusal;

/**
 * The part of the conversation that the model is shown: with what the server has stored of it, from the latest
 * compaction on, and without reasoning of turns that no longer count.
 */
export function listShownItems(deps: ShownItemsDeps, inputs: ShownItemsInput): ShownItemsOutcome {
  const { request } = inputs;
  const full = collectConversation(deps, inputs);
  if (full.kind === "refused") return full;
  const start = full.items.findLastIndex(({ kind }) => kind === "compaction");
  const latest = full.items[start];
  const opened = latest?.kind === "compaction" ? openCompaction(deps.seal, latest.sealed) : undefined;
  if (opened?.kind === "refused") return opened;
  const rest = full.items.slice(start + 1);
  const refused = request.api === "chat" ? undefined : (checkResponsesPairs(rest) ?? checkReasoningPlace(rest));
  if (refused !== undefined) return refused;
  const shown: ShownItem[] = [];
  if (opened !== undefined) {
    // A definition stays valid, or the model could call nothing that it called before.
    shown.push(...full.items.slice(0, start).filter((item) => item.kind === "tools"));
    if (opened.covers === "beside") shown.push(...userMessages(deps.seal, full.items.slice(0, start)));
    shown.push({ kind: "compaction", summary: opened.summary });
  }
  const lastUser = rest.findLastIndex((item) => item.kind === "message" && item.role === "user");
  const keepsAll = reasoningContext(inputs) === "all_turns";
  for (const [at, item] of rest.entries()) {
    if (item.kind !== "reasoning") {
      if (isShownAsSent(item)) shown.push(item);
      continue;
    }
    const thought = openReasoning(deps.seal, item);
    if (thought.kind === "refused") return thought;
    if (keepsAll || at > lastUser) shown.push(thought);
  }
  return { kind: "shown", items: shown };
}

const isShownAsSent = (item: Item): item is Extract<Item, { kind: "message" | "call" | "output" | "tools" }> =>
  item.kind === "message" || item.kind === "call" || item.kind === "output" || item.kind === "tools";

const reasoningContext = ({ request, model }: ShownItemsInput): "current_turn" | "all_turns" =>
  request.reasoning.context === "auto" ? model.reasoningContext : request.reasoning.context;

/** What the request sends, after what the server stored, with references replaced by the items that they name. */
function collectConversation(
  { store }: ShownItemsDeps,
  { request, workspace }: ShownItemsInput,
): { readonly kind: "items"; readonly items: readonly Item[] } | OpenAiRefusal {
  const { previousId } = request;
  const previous = previousId === undefined ? undefined : store.find(previousId, workspace);
  if (previousId !== undefined && previous === undefined)
    return refuseRequest(`Previous response with id '${previousId}' not found.`, {
      param: "previous_response_id",
      code: "previous_response_not_found",
    });
  const items: Item[] = previous === undefined ? [] : [...listConversation(previous.link)];
  for (const item of request.items) {
    if (!isReference(item)) {
      items.push(item);
      continue;
    }
    const found = store.item(item.id, workspace);
    if (found === undefined) return unknownItem(item.id);
    items.push(found);
  }
  return { kind: "items", items };
}

/** Whether the server has to look up the item's content. */
const isReference = (item: Item): item is Extract<Item, { kind: "reference" | "reasoning" }> =>
  item.kind === "reference" || (item.kind === "reasoning" && item.sealed === undefined);

const unknownItem = (id: string): OpenAiRefusal =>
  refuseRequest(
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    { status: 404, param: "input" },
  );

const sealRefusal = (what: string): OpenAiRefusal =>
  refuseRequest(
    `The encrypted content ${what} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
    { param: "input", code: "invalid_encrypted_content" },
  );

type ReasoningItem = Extract<ShownItem, { kind: "reasoning" }>;

function openReasoning(seal: ItemSeal, item: Extract<Item, { kind: "reasoning" }>): ReasoningItem | OpenAiRefusal {
  const content = item.sealed === undefined ? undefined : seal.open("reasoning", item.sealed);
  const thought = content === undefined ? undefined : textField(content, "thought");
  const chain = content === undefined ? undefined : textField(content, "chain");
  if (thought === undefined || chain === undefined) return sealRefusal(`for item ${item.id}`);
  return { kind: "reasoning", thought, chain };
}

/** `beside`: the user's messages stand before it verbatim and are still shown. */
interface OpenedCompaction {
  readonly kind: "opened";
  readonly summary: string;
  readonly covers: "all" | "beside";
}

function openCompaction(seal: ItemSeal, sealed: string): OpenedCompaction | OpenAiRefusal {
  const content = seal.open("compaction", sealed);
  const summary = content === undefined ? undefined : textField(content, "summary");
  if (content === undefined || summary === undefined) return sealRefusal("of the compaction item");
  return { kind: "opened", summary, covers: textField(content, "covers") === "beside" ? "beside" : "all" };
}

/** User messages that no earlier compaction replaces; one that cannot be read is assumed to replace all. */
function userMessages(seal: ItemSeal, items: readonly Item[]): readonly ShownItem[] {
  const start = items.findLastIndex((item) => {
    if (item.kind !== "compaction") return false;
    const opened = openCompaction(seal, item.sealed);
    return opened.kind === "refused" || opened.covers === "all";
  });
  return items.slice(start + 1).flatMap((item) => (item.kind === "message" && item.role === "user" ? [item] : []));
}
