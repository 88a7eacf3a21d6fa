import type { Receipt } from "../schema/receipt.ts";
import { humanCount } from "./human.ts";
import type { Style } from "./style.ts";

const classes = ["kept", "stubbed", "summarised", "dropped", "added", "restored"] as const;

/** A receipt in a few lines: what happened to how many entries, the tokens, and when it pays. */
export function receiptText(receipt: Receipt, style: Style): string {
  const counts = classes.flatMap((name) => {
    const lines = receipt.lines.filter((line) => line.class === name);
    return lines.length === 0 ? [] : [`${humanCount(lines.length)} ${name}`];
  });
  const { price, tokensBefore, tokensAfter, tokensBehind } = receipt;
  return [
    `  entries   ${counts.join(", ")}`,
    `  tokens    ${humanCount(tokensBefore)} → ${style("bold", humanCount(tokensAfter))} (messages alone, estimated)`,
    `  cache     ${humanCount(tokensBehind)} tokens behind the change are written again; ${paysText(price.breakEvenRounds)}`,
    "",
  ].join("\n");
}

const paysText = (rounds: number | undefined): string => {
  if (rounds === undefined) return "nothing is saved by it";
  return rounds === 0
    ? "pays at once"
    : `pays after ${humanCount(rounds)} more ${rounds === 1 ? "round" : "rounds"} on a warm cache`;
};
