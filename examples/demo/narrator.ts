import { styleText } from "node:util";
import type { ContextEvent, RecordedEdit } from "palimpsest";
import type { ShownItem } from "./agent.ts";

const columns = 80;

export const formatNumber = (value: number): string => Math.round(value).toLocaleString("en-US");
export const formatUsd = (nanos: number): string => `$${(nanos / 1e9).toFixed(4)}`;

/** Prints the demo, and counts the claims that failed. */
export class Narrator {
  failedClaims = 0;
  #titles = 0;
  /** The line of calls that is being printed: consecutive calls of a tool share one. */
  #calls = "";

  title(name: string, text: string): void {
    this.#titles += 1;
    this.say(`\n${styleText("bold", `${this.#titles}  ${name}`)}\n${styleText("dim", wrap(text))}\n`);
  }

  say(line: string): void {
    if (this.#calls !== "") console.log(this.#calls);
    this.#calls = "";
    console.log(line);
  }

  /** A claim that does not hold is printed in red and counted. */
  claim(label: string, holds: boolean, text: string): void {
    if (!holds) this.failedClaims += 1;
    this.say(`  ${label.padEnd(10)}${holds ? styleText("green", `✓ ${text}`) : styleText("red", `✗ NOT SO: ${text}`)}`);
  }

  readonly show = (item: ShownItem): void => {
    if (item.kind !== "call")
      return this.say(item.kind === "text" ? wrap(item.text) : styleText("cyan", wrap(`> ${item.text}`)));
    const [what = ""] = Object.values(item.call.input).map(String);
    const head = `${item.isError ? "✗" : "●"} ${item.call.name}`;
    const isContinued = this.#calls.startsWith(head) && this.#calls.length + what.length + 2 <= columns;
    if (!isContinued && this.#calls !== "") console.log(this.#calls);
    this.#calls = isContinued ? `${this.#calls}, ${what}` : `${head} ${what}`.trimEnd();
  };

  /** What the engine does to the view, as it does it. */
  readonly tell = (event: ContextEvent): void => {
    if (event.kind === "edit" && event.what === "offload") this.say("◦ offloaded 1 result");
    if (event.kind === "cleared") this.say(`◦ cleared ${event.count} results: ${formatSizes(event)}`);
    if (event.kind === "compaction-start" && event.cause === "overflow") this.say(`✗ refused: ${event.because ?? ""}`);
    if (event.kind === "compacted") this.say(`◆ compacted: ${formatSizes(event)}`);
  };
}

const wrap = (text: string): string => text.replaceAll(/(.{1,80})(?:\s+|$)/g, "$1\n").trimEnd();

const formatSizes = (sizes: { readonly tokensBefore: number; readonly tokensAfter: number }): string =>
  `${formatNumber(sizes.tokensBefore)} → ${formatNumber(sizes.tokensAfter)} tokens`;

/** A receipt counts in uncached input tokens; what one of them costs makes it money. */
export function formatPrice(receipt: NonNullable<RecordedEdit["receipt"]>, nanosPerToken: number): string {
  const { now, perRound } = receipt.price;
  const money = (tokens: number): string =>
    `${tokens < 0 ? "saves" : "costs"} ${formatUsd(Math.abs(tokens) * nanosPerToken)}`;
  return `${formatSizes(receipt).padEnd(22)}${money(now)} once, ${money(-perRound)} a round`;
}
