import { figure } from "./figure.ts";
import { field, isObject, type Json } from "./json.ts";
import { plural } from "./plural.ts";

/** What a server says that it left out of a request by a rule of its own. */
export interface ServerCleared {
  readonly tokens: number;
  readonly results: number;
  readonly thinkingTurns: number;
}

/** `applied`: its list of applied edits, in its own words. What is no count counts nothing. */
export function readServerCleared(applied: readonly Json[]): ServerCleared {
  const sum = (name: string): number =>
    applied.reduce<number>((total, edit) => {
      const value = isObject(edit) ? field(edit, name) : undefined;
      return total + (typeof value === "number" && value > 0 ? value : 0);
    }, 0);
  return {
    tokens: sum("cleared_input_tokens"),
    results: sum("cleared_tool_uses"),
    thinkingTurns: sum("cleared_thinking_turns"),
  };
}

/** `12,345 tokens: 7 results, thinking of 2 turns`. */
export function serverClearedText({ tokens, results, thinkingTurns }: ServerCleared): string {
  const parts = [
    ...(results === 0 ? [] : [`${figure(results)} ${plural(results, "result")}`]),
    ...(thinkingTurns === 0 ? [] : [`thinking of ${figure(thinkingTurns)} ${plural(thinkingTurns, "turn")}`]),
  ];
  return `${figure(tokens)} ${plural(tokens, "token")}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}
