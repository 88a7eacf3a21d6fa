import type {
  Candidate,
  ClearedEvent,
  CompactRequest,
  LayerHost,
  LayerRun,
  SettleHost,
  SettleRun,
  ViewEdit,
} from "../../layers/layer.ts";
import type { Offers, PipelineState } from "../../layers/pipeline-state.ts";
import type { Blobs, BlobsDep } from "../../ports/blobs.ts";
import type { Tool } from "../../ports/tool.ts";
import { type Millis, type SessionId, tokens, type ToolUseId } from "../../schema/brand.ts";
import type { Model } from "../../schema/model.ts";
import { fileAction } from "../../tokens/tool-kind.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { EditOutcome } from "../../session/session.ts";
import { type Clearable, ratesFor } from "./pipeline-state.ts";
import { watchReads } from "../read-files.ts";

export interface HostDeps extends BlobsDep {
  readonly tools: readonly Pick<Tool, "name">[];
}

interface HostInput extends Clearable {
  readonly state: PipelineState;
  readonly candidate: Candidate;
  /** Absent if only this candidate is run. */
  readonly compact?: (request: CompactRequest) => LayerRun;
}

/** Lets one candidate change a conversation. */
export class ConversationHost implements LayerHost {
  readonly blobs: Blobs;
  readonly #deps: HostDeps;
  readonly #input: HostInput;

  constructor(deps: HostDeps, input: HostInput) {
    this.blobs = deps.blobs;
    this.#deps = deps;
    this.#input = input;
  }

  get state(): PipelineState {
    return this.#input.state;
  }

  get session(): SessionId {
    return this.#input.conversation.session;
  }

  get fold(): Fold {
    return this.#input.line.fold;
  }

  get readingTool(): string | undefined {
    return this.#deps.tools.find(({ name }) => fileAction(name) === "read")?.name;
  }

  get thinking(): Model["thinking"] | undefined {
    return this.#input.conversation.known?.thinking;
  }

  run(): LayerRun {
    const { candidate } = this.#input;
    return "run" in candidate ? candidate.run(this) : this.edit(candidate.edit);
  }

  compact(request: CompactRequest): LayerRun {
    if (this.#input.compact === undefined) throw new Error("this host can't compact");
    return this.#input.compact(request);
  }

  async *edit(edit: ViewEdit): LayerRun {
    const { conversation, line, cache, candidate, state } = this.#input;
    const forgetUnshown = watchReads(conversation.files, () => line.fold);
    const edited = await this.#write(edit);
    if (edited.kind === "failed") return edited;
    const { cut = 0, clearedTokens: savedTokens = 0 } = edit;
    if (cut !== "none") cache.cut({ offset: cut, savedTokens, round: line.inventory.round });
    conversation.breaks.expect(cut === "none" ? "withheld" : "clear");
    forgetUnshown();
    const before = state.moment.contextTokens;
    const after = tokens(Math.min(before, conversation.line.usedTokens));
    const event: ClearedEvent = {
      kind: "cleared",
      what: edit.what,
      count: edit.count,
      tokensBefore: tokens(before),
      tokensAfter: after,
      tokensSaved: tokens(before - after),
      trigger: candidate.layer,
      because: candidate.because,
      entries: edited.entries,
      price: edited.receipt.price,
    };
    yield event;
    return { kind: "edited", event };
  }

  #write({ draft, others = [], nature, cause, behindTokens, cache }: ViewEdit): Promise<EditOutcome> {
    const { line, candidate, state } = this.#input;
    const warmth = cache ?? (state.prefixes.isCold(state.moment.at) ? "cold" : "warm");
    const planned = {
      removesTokens: candidate.removesTokens,
      behindTokens: warmth === "cold" ? 0 : (behindTokens ?? candidate.behindTokens),
      cache: warmth,
    };
    const { because, figures, layer } = candidate;
    const rates = ratesFor(this.#input);
    return line.edit({ drafts: [draft, ...others], cause: cause ?? layer, nature, because, figures, planned, rates });
  }
}

/** Lets layers settle earlier edits of a conversation before they propose new ones. */
export class ConversationSettleHost implements SettleHost {
  readonly offers: Offers | undefined;
  readonly cache: "warm" | "cold" | "lost";
  readonly #clearable: Clearable;
  #hasEdited = false;

  constructor(clearable: Clearable, { offers, at }: { readonly offers: Offers | undefined; readonly at: Millis }) {
    const { server, prefixes } = clearable.cache;
    this.#clearable = clearable;
    this.offers = offers;
    this.cache = server.takeLoss() === "lost" ? "lost" : prefixes.isCold(at) ? "cold" : "warm";
  }

  get hasEdited(): boolean {
    return this.#hasEdited;
  }

  get withheld(): ReadonlySet<ToolUseId> {
    return this.#clearable.line.fold.projection.withheld;
  }

  async *edit({ draft, cause, because }: Parameters<SettleHost["edit"]>[0]): SettleRun {
    const { line, conversation } = this.#clearable;
    const edited = await line.edit({ drafts: [draft], cause, nature: "reduced", because });
    conversation.breaks.expect("withheld");
    this.#hasEdited = true;
    if (edited.kind === "edited") yield { kind: "edit", what: draft.type, entries: edited.entries };
  }
}
