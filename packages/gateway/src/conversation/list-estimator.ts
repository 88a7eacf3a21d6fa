import type { Provider } from "palimpsest/internal/context/provider-formats";
import { parseMessageByProvider } from "palimpsest/internal/context/sync/parse-messages";
import { tokens } from "palimpsest/internal/schema/brand";
import { isObject, type Json, type JsonObject, tryParseJson } from "palimpsest/internal/schema/json";
import {
  addBytes,
  type ByteCounts,
  contentClasses,
  measureBlock,
  measureText,
  noBytes,
} from "palimpsest/internal/tokens/byte-counts";
import { Calibration } from "palimpsest/internal/tokens/calibration";
import type { BodyElement } from "../body/body-element.ts";

type Elements = readonly (BodyElement | Uint8Array)[];

/** A request of the client, and what was sent for it. */
export interface ComparedLists {
  readonly client: Elements;
  readonly sent: Elements;
  /** System prompt and tools that both have. */
  readonly fixed: readonly (Json | undefined)[];
  /** Tools that only the one that was sent has. */
  readonly gatewayTools: readonly JsonObject[];
}

/** The request before, and how large it was. */
interface Anchor {
  readonly client: MeasuredList;
  readonly sent: MeasuredList;
  readonly usedTokens: number;
  readonly clientTokens: number;
}

interface MeasuredList {
  readonly messages: readonly Message[];
  readonly counts: ByteCounts;
}

/** The value of an element, which is the same object in the next body if it did not change; or what was written instead. */
type Message = JsonObject | Uint8Array;

/**
 * How many tokens the client's own requests have, of which only a part is sent. A list that goes on from the one before has as
 * many as that one and what is new; the upstream says how many these are, as long as what is sent goes on too. Only what is
 * new in a request in which an edit was made is estimated; and all that was left out, for the first request that is seen of a
 * conversation. Each message is measured once, as the engine does, and the rates are learned from what the upstream counts.
 */
export class ListEstimator {
  readonly #provider: Provider;
  readonly #countsByMessage = new WeakMap<object, ByteCounts>();
  readonly #countsByFixed = new WeakMap<object, ByteCounts>();
  readonly #calibration = new Calibration();
  #anchor: Anchor | undefined;

  constructor(provider: Provider) {
    this.#provider = provider;
  }

  /** `usedTokens`: of the upstream, for what was sent. Returns how much larger the client's own is; below 0: smaller. */
  compare({ fixed, gatewayTools, ...lists }: ComparedLists, usedTokens: number): number {
    const client = this.#measure(lists.client, this.#anchor?.client);
    const sent = this.#measure(lists.sent, this.#anchor?.sent);
    const whole = { ...sent.counts };
    for (const value of [...fixed, ...gatewayTools]) addBytes(whole, this.#measureFixed(value));
    this.#calibration.observe(whole, tokens(usedTokens));
    const goesOn = this.#anchor !== undefined && this.#extends(client, this.#anchor.client);
    const anchor = goesOn ? this.#anchor : undefined;
    const clientTokens = Math.round(
      anchor === undefined
        ? usedTokens + this.#estimate(client, sent) - countTools(gatewayTools)
        : anchor.clientTokens + this.#grow({ anchor, client, sent, usedTokens }),
    );
    this.#anchor = { client, sent, usedTokens, clientTokens };
    return clientTokens - usedTokens;
  }

  /** What is new in the client's list, in tokens. */
  #grow({ anchor, client, sent, usedTokens }: Omit<Anchor, "clientTokens"> & { readonly anchor: Anchor }): number {
    const estimate = this.#estimate(client, anchor.client);
    if (!this.#extends(sent, anchor.sent)) return estimate;
    // Both have the same new messages, but for own calls.
    return usedTokens - anchor.usedTokens + estimate - this.#estimate(sent, anchor.sent);
  }

  /** By how much one list is larger. */
  #estimate({ counts: one }: MeasuredList, { counts: other }: MeasuredList): number {
    const rates = this.#calibration.lowRates;
    return contentClasses.reduce((sum, name) => sum + (one[name] - other[name]) * rates[name], 0);
  }

  #extends({ messages, counts }: MeasuredList, before: MeasuredList): boolean {
    const { length } = before.messages;
    if (messages.length < length) return false;
    const beginning = { ...counts };
    for (const message of messages.slice(length)) addBytes(beginning, this.#measureMessage(message), -1);
    return contentClasses.every((name) => beginning[name] === before.counts[name]);
  }

  /** Most messages are those of the list before: they cost a comparison. */
  #measure(elements: Elements, before: MeasuredList = nothing): MeasuredList {
    const messages = elements.map((element) => (element instanceof Uint8Array ? element : element.value));
    const counts = { ...before.counts };
    let same = 0;
    while (same < before.messages.length && messages[same] === before.messages[same]) same += 1;
    for (const message of before.messages.slice(same)) addBytes(counts, this.#measureMessage(message), -1);
    for (const message of messages.slice(same)) addBytes(counts, this.#measureMessage(message));
    return { messages, counts };
  }

  /** Tens of kilobytes that seldom change: then they are the same object as in the request before. */
  #measureFixed(value: Json | undefined): ByteCounts {
    const key = typeof value === "object" && value !== null ? value : undefined;
    const known = key === undefined ? undefined : this.#countsByFixed.get(key);
    if (known !== undefined) return known;
    const counts = noBytes();
    if (value !== undefined) measureText(JSON.stringify(value), counts);
    if (key !== undefined) this.#countsByFixed.set(key, counts);
    return counts;
  }

  #measureMessage(message: Message): ByteCounts {
    const known = this.#countsByMessage.get(message);
    if (known !== undefined) return known;
    const value = message instanceof Uint8Array ? tryParseJson(Buffer.from(message).toString("utf8")) : message;
    const counts = noBytes();
    for (const block of isObject(value) ? this.#parse(value) : []) addBytes(counts, measureBlock(block));
    this.#countsByMessage.set(message, counts);
    return counts;
  }

  #parse(value: JsonObject) {
    return parseMessageByProvider[this.#provider](value).flatMap(({ content }) => content);
  }
}

const nothing: MeasuredList = { messages: [], counts: noBytes() };

/** Definitions are mostly text. */
const countTools = (tools: readonly JsonObject[]): number =>
  tools.reduce((sum, tool) => sum + JSON.stringify(tool).length / toolCharsPerToken, 0);

const toolCharsPerToken = 4;
