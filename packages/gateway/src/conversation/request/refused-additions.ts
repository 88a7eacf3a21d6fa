import type { Provider } from "palimpsest/internal/context/provider-formats";
import { gatewayToolNames } from "../tools/gateway-tools.ts";
import { guessedAdditionMs, refusedAdditionMs, refusedAdditionsMax } from "../limits.ts";

/**
 * What the gateway adds to a request of its own accord, in the order in which it is suspected if a refusal does not say why:
 * `cache_control` of the request, `block_binding` and its beta, `stream_options`, marks of the system prompt and of an edited
 * list, breakpoints of OpenAI's APIs, tools that the gateway answers.
 */
export const additions = [
  "automatic-mark",
  "thinking-binding",
  "usage",
  "block-mark",
  "breakpoint",
  "gateway-tools",
] as const;
export type Addition = (typeof additions)[number];

/** `guessed`: the refusal did not name it, but the client's own request was taken. */
export interface LeftOut {
  readonly addition: Addition;
  readonly sign: "named" | "guessed";
}

interface RefusedAddition {
  readonly provider: Provider;
  /** Behind one address there may be several servers, by model. */
  readonly model: string;
  /** Servers may take fewer fields in a count. What is refused in a count is left out of counts only. */
  readonly operation: "create" | "count";
  readonly addition: Addition;
}

/**
 * What upstreams do not take: they refuse a whole request for a field that they do not know. It is left out of the requests of
 * all conversations for a while, so that each addition costs one refused request at most.
 */
export class RefusedAdditions {
  readonly #now: () => number;
  readonly #untilByKey = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  has(refused: RefusedAddition): boolean {
    const isRefused = (this.#untilByKey.get(toKey(refused)) ?? 0) > this.#now();
    return isRefused || (refused.operation === "count" && this.has({ ...refused, operation: "create" }));
  }

  remove(refused: RefusedAddition): void {
    this.#untilByKey.delete(toKey(refused));
  }

  add(refused: RefusedAddition, sign: LeftOut["sign"]): void {
    const key = toKey(refused);
    this.#untilByKey.delete(key);
    this.#untilByKey.set(key, this.#now() + (sign === "named" ? refusedAdditionMs : guessedAdditionMs));
    const [oldest] = this.#untilByKey.keys();
    if (this.#untilByKey.size > refusedAdditionsMax && oldest !== undefined) this.#untilByKey.delete(oldest);
  }
}

const toKey = ({ provider, operation, model, addition }: RefusedAddition): string =>
  `${provider} ${operation} ${addition} ${model}`;

/** The addition that an error names. `sent`: those of the request. */
export function findNamed(error: string, sent: readonly Addition[]): Addition | undefined {
  if (sent.includes("block-mark") && blockMarkName.test(error)) return "block-mark";
  return sent.find((addition) => nameByAddition[addition].test(error));
}

/** A mark of a block, as a path: `system.0.cache_control`. */
const blockMarkName = /\b(?:system|messages|content)\b[\w.[\]'" -]*cache_control/;

const nameByAddition: Readonly<Record<Addition, RegExp>> = {
  "automatic-mark": /cache_control/,
  "thinking-binding": /block_binding|thinking-binding/,
  usage: /stream_options|include_usage/,
  "block-mark": /cache_control/,
  breakpoint: /prompt_cache_breakpoint/,
  "gateway-tools": new RegExp(`(?:["'\`]|\\b(?:tool|function) )(?:${gatewayToolNames.join("|")})\\b`),
};
