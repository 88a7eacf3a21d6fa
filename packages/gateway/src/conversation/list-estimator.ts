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
  readonly length: number;
  readonly counts: ByteCounts;
}

/**
 * How many tokens the client's own requests have, of which only a part is sent. A list that goes on from the one before has as
 * many as that one and what is new; the upstream says how many these are, as long as what is sent goes on too. Only what is
 * new in a request in which an edit was made is estimated; and all that was left out, for the first request that is seen of a
 * conversation. Each message is measured once, as the engine does, and the rates are learned from what the upstream counts.
 */
export class ListEstimator {
  readonly #provider: Provider;
  readonly #countsByElement = new WeakMap<object, ByteCounts>();
  readonly #countsByFixed = new WeakMap<object, ByteCounts>();
  readonly #calibration = new Calibration();
  #anchor: Anchor | undefined;

  constructor(provider: Provider) {
    this.#provider = provider;
  }

  /** `usedTokens`: of the upstream, for what was sent. Returns how much larger the client's own is; below 0: smaller. */
  compare({ fixed, gatewayTools, ...lists }: ComparedLists, usedTokens: number): number {
    const client = this.#measure(lists.client);
    const sent = this.#measure(lists.sent);
    const whole = { ...sent.counts };
    for (const value of [...fixed, ...gatewayTools]) addBytes(whole, this.#measureFixed(value));
    this.#calibration.observe(whole, tokens(usedTokens));
    const goesOn = this.#anchor !== undefined && this.#extends(lists.client, this.#anchor.client);
    const anchor = goesOn ? this.#anchor : undefined;
    const clientTokens = Math.round(
      anchor === undefined
        ? usedTokens + this.#estimate(client, sent) - countTools(gatewayTools)
        : anchor.clientTokens + this.#grow({ anchor, lists, client, sent, usedTokens }),
    );
    this.#anchor = { client, sent, usedTokens, clientTokens };
    return clientTokens - usedTokens;
  }

  /** What is new in the client's list, in tokens. */
  #grow({
    anchor,
    lists,
    client,
    sent,
    usedTokens,
  }: {
    readonly anchor: Anchor;
    readonly lists: Pick<ComparedLists, "sent">;
    readonly client: MeasuredList;
    readonly sent: MeasuredList;
    readonly usedTokens: number;
  }): number {
    const estimate = this.#estimate(client, anchor.client);
    if (!this.#extends(lists.sent, anchor.sent)) return estimate;
    // Both have the same new messages, but for own calls.
    return usedTokens - anchor.usedTokens + estimate - this.#estimate(sent, anchor.sent);
  }

  /** By how much one list is larger. */
  #estimate({ counts: one }: MeasuredList, { counts: other }: MeasuredList): number {
    const rates = this.#calibration.lowRates;
    return contentClasses.reduce((sum, name) => sum + (one[name] - other[name]) * rates[name], 0);
  }

  #extends(elements: Elements, before: MeasuredList): boolean {
    if (elements.length < before.length) return false;
    const { counts } = this.#measure(elements.slice(0, before.length));
    return contentClasses.every((name) => counts[name] === before.counts[name]);
  }

  #measure(elements: Elements): MeasuredList {
    const counts = noBytes();
    for (const element of elements) addBytes(counts, this.#measureElement(element));
    return { length: elements.length, counts };
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

  #measureElement(element: BodyElement | Uint8Array): ByteCounts {
    // The value of an element that did not change is the same object in the next body.
    const key = element instanceof Uint8Array ? element : element.value;
    const known = this.#countsByElement.get(key);
    if (known !== undefined) return known;
    const value = element instanceof Uint8Array ? tryParseJson(Buffer.from(element).toString("utf8")) : element.value;
    const counts = noBytes();
    for (const block of isObject(value) ? this.#parse(value) : []) addBytes(counts, measureBlock(block));
    this.#countsByElement.set(key, counts);
    return counts;
  }

  #parse(value: JsonObject) {
    return parseMessageByProvider[this.#provider](value).flatMap(({ content }) => content);
  }
}

/** Definitions are mostly text. */
const countTools = (tools: readonly JsonObject[]): number =>
  tools.reduce((sum, tool) => sum + JSON.stringify(tool).length / toolCharsPerToken, 0);

const toolCharsPerToken = 4;
