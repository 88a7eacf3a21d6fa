import { createHmac, timingSafeEqual } from "node:crypto";
import { field, isObject, tryParseJson, textField } from "palimpsest/internal/schema/json";
import type { Model } from "palimpsest/internal/schema/model";
import type { InputTransformation } from "palimpsest/internal/schema/wire/reply-message";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { ThinkingPlace, ThinkingVerdict } from "./prompt-reader.ts";
import { invalid } from "../refusal.ts";

/**
 * Thinking carries a signature that only this simulator can make: over the text, the model and everything before it.
 * What comes back is checked: altered text is refused on every model; on models whose thinking is bound, thinking of
 * another model is dropped, and a changed prefix is refused or dropped as the request asks.
 */
export class ThinkingSeal {
  readonly #key: string;

  constructor(seed: number) {
    this.#key = `thinking of the simulator, seed ${seed}`;
  }

  sign(thinking: string, bound: BoundPrefix): string {
    return encodeSeal({ ...bound, mac: this.#mac("thinking", { signed: thinking, bound }) });
  }

  /** Thinking that a client can send back but not read. */
  redact(thinking: string, bound: BoundPrefix): string {
    const hidden = Buffer.from(thinking, "utf8").toString("base64");
    return encodeSeal({ ...bound, mac: this.#mac("redacted_thinking", { signed: hidden, bound }), hidden });
  }

  /** Undefined if the signature is not ours or the text is not what was signed. */
  open({ block }: Pick<ThinkingPlace, "block">): BoundPrefix | undefined {
    const sealed = decodeSeal(block.type === "thinking" ? block.signature : block.data);
    if (sealed === undefined) return undefined;
    const signed = block.type === "thinking" ? block.thinking : (sealed.hidden ?? "");
    const expected = Buffer.from(this.#mac(block.type, { signed, bound: sealed }));
    const found = Buffer.from(sealed.mac);
    return expected.length === found.length && timingSafeEqual(expected, found) ? sealed : undefined;
  }

  #mac(type: string, { signed, bound }: { readonly signed: string; readonly bound: BoundPrefix }): string {
    const sealed = JSON.stringify([type, bound.model, bound.chain, bound.hiddenTokens, signed]);
    return createHmac("sha256", this.#key).update(sealed).digest("base64url");
  }
}

interface BoundPrefix {
  /** The registry's id. */
  readonly model: string;
  /** Hash of everything before the block. */
  readonly chain: string;
  /** Tokens of text that the reply does not show but that takes room in the prompt. */
  readonly hiddenTokens: number;
}

interface ThinkingSealContent extends BoundPrefix {
  readonly mac: string;
  readonly hidden?: string;
}

const encodeSeal = (sealed: ThinkingSealContent): string =>
  Buffer.from(JSON.stringify(sealed), "utf8").toString("base64");

function decodeSeal(source: string): ThinkingSealContent | undefined {
  const parsed = tryParseJson(Buffer.from(source, "base64").toString("utf8"));
  if (!isObject(parsed)) return undefined;
  const [model, chain, mac, hidden] = ["model", "chain", "mac", "hidden"].map((name) => textField(parsed, name));
  const hiddenTokens = field(parsed, "hiddenTokens");
  if (model === undefined || chain === undefined || mac === undefined || typeof hiddenTokens !== "number")
    return undefined;
  return { model, chain, mac, hiddenTokens, ...(hidden === undefined ? {} : { hidden }) };
}

/** `enforced`: accounts since 2026-08-31, always. `reported`: older ones, if the request does not set the control. */
export type BindingMode = "enforced" | "reported";

interface ThinkingJudgeInput {
  readonly seal: ThinkingSeal;
  readonly request: MessagesRequest | CountRequest;
  readonly model: Model;
  readonly isBound: (modelId: string) => boolean;
  readonly mode: BindingMode;
}

/** Judges the thinking of one request; afterwards `transformations` lists what it did. */
export class ThinkingJudge {
  readonly transformations: InputTransformation[] = [];
  readonly #inputs: ThinkingJudgeInput;
  readonly #latestReply: number;
  /** Once a block is dropped, all later ones are: they were made after it. */
  #prefixBroken = false;

  constructor(inputs: ThinkingJudgeInput) {
    this.#inputs = inputs;
    this.#latestReply = inputs.request.messages.findLastIndex(({ role }) => role === "assistant");
  }

  judge({ block, path, chainBefore }: ThinkingPlace): ThinkingVerdict {
    const { seal, model, isBound } = this.#inputs;
    const bound = seal.open({ block });
    if (bound === undefined) return this.#refuseUnsigned(path, block.type);
    if (bound.model !== model.id && (isBound(bound.model) || isBound(model.id)))
      return this.#drop(path, "model_binding_mismatch");
    const kept = { kind: "kept", hiddenTokens: bound.hiddenTokens } as const;
    if (!isBound(model.id) || (bound.chain === chainBefore && !this.#prefixBroken)) return kept;
    return this.#prefixMismatch({ path, type: block.type, kept });
  }

  #prefixMismatch({
    path,
    type,
    kept,
  }: {
    readonly path: string;
    readonly type: string;
    readonly kept: ThinkingVerdict;
  }): ThinkingVerdict {
    const { request, mode } = this.#inputs;
    const behaviour = mismatchBehaviour(request);
    if (behaviour === "drop_block") {
      this.#prefixBroken = true;
      return this.#drop(path, "prefix_binding_mismatch");
    }
    if (mode === "reported" && behaviour === undefined) {
      this.transformations.push({ type: "thinking_mismatch_allowed", path, reason: "prefix_binding_mismatch" });
      return kept;
    }
    return invalid(
      `Invalid \`signature\` in \`${type}\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
      path,
    );
  }

  #refuseUnsigned(path: string, type: string): ThinkingVerdict {
    const inLatest = path.startsWith(`messages.${this.#latestReply}.`);
    return inLatest
      ? invalid(
          "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
          path,
        )
      : invalid(`Invalid \`signature\` in \`${type}\` block`, path);
  }

  #drop(path: string, reason: InputTransformation["reason"]): ThinkingVerdict {
    this.transformations.push({ type: "thinking_dropped", path, reason });
    return { kind: "dropped" };
  }
}

function mismatchBehaviour({ thinking }: MessagesRequest | CountRequest): "error" | "drop_block" | undefined {
  if (thinking?.type !== "enabled" && thinking?.type !== "adaptive") return undefined;
  return thinking.block_binding?.prefix_mismatch_behavior ?? undefined;
}
