import type { ToolResultBlock, ToolUseBlock } from "../../../schema/block.ts";
import type { ToolUseId } from "../../../schema/brand.ts";
import { fileActOf, filePathOf } from "../../../tokens/file-act.ts";
import { toolKindOf } from "../../../tokens/tool-kind.ts";
import { nothingFoundCharsMax } from "./limits.ts";
import { refusalOf } from "../refusal.ts";
import { resultText } from "../result-text.ts";
import { callsOf, resultsOf, type Round } from "../rounds.ts";
import type { ViewState } from "../view-state.ts";

/** Why a call and its result can go: the search found nothing, a person refused the call, a later read shows the same. */
export type SnipReason = "found-nothing" | "refused" | "read-again";

/** By call: why it is of low value. Calls that are absent are worth keeping, also those without exactly one result. */
export function lowValueCalls(view: ViewState, rounds: readonly Round[]): ReadonlyMap<ToolUseId, SnipReason> {
  const reasons = new Map<ToolUseId, SnipReason>();
  const shownLater = new Set<string>();
  for (const round of rounds.toReversed()) {
    for (const { call, result } of answeredCalls(round).toReversed()) {
      const shows = view.withheld.has(call.id) || isDecided(view, call.id) ? undefined : readOf(call, result);
      const reason =
        reasonOf(call, result) ?? (shows !== undefined && shownLater.has(shows) ? "read-again" : undefined);
      if (reason !== undefined) reasons.set(call.id, reason);
      if (shows !== undefined) shownLater.add(shows);
    }
  }
  return reasons;
}

interface AnsweredCall {
  readonly call: ToolUseBlock;
  readonly result: ToolResultBlock;
}

function answeredCalls(round: Round): readonly AnsweredCall[] {
  const resultsByCall = Map.groupBy(resultsOf(round), (result) => result.tool_use_id);
  return callsOf(round).flatMap((call) => {
    const [result, ...more] = resultsByCall.get(call.id) ?? [];
    return result === undefined || more.length > 0 ? [] : [{ call, result }];
  });
}

/** An offload or a clear shows something else than what was read. */
const isDecided = ({ decisions }: ViewState, toolUse: ToolUseId): boolean =>
  decisions.get(toolUse)?.some(({ kind }) => kind !== "repair") === true;

function reasonOf(call: ToolUseBlock, result: ToolResultBlock): SnipReason | undefined {
  if (refusalOf(result) === "silent") return "refused";
  return toolKindOf(call.name) === "search" && foundNothing(result) ? "found-nothing" : undefined;
}

const found = String.raw`(?:match(?:es|ing \w+)?|files?|results?|hits?|lines?|occurrences?|documents?)`;
const nothingFound: readonly RegExp[] = [
  new RegExp(
    String.raw`^(?:no|0|zero) (?:matching |search |web )?${found}(?: (?:were|was))?(?: found)?(?: (?:for|in|matching|with|under|of)\b.*)?[.!:]?$`,
    "i",
  ),
  new RegExp(String.raw`^found (?:no|0|zero) (?:matching )?${found}\b.*$`, "i"),
  /^nothing (?:was )?found[.!]?$/i,
  /^\(\S+ completed with no output\)$/,
];

function foundNothing(result: ToolResultBlock): boolean {
  const said = resultText(result);
  if (said === "") return result.is_error !== true;
  return said.length <= nothingFoundCharsMax && nothingFound.some((form) => form.test(said));
}

/** What a read shows: the file, the range and the content. The same text means the same read. */
function readOf(call: ToolUseBlock, { content, is_error }: ToolResultBlock): string | undefined {
  const path = filePathOf(call);
  if (fileActOf(call.name) !== "read" || path === undefined || is_error === true || content === undefined)
    return undefined;
  const asked = Object.entries(call.input).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([path, asked, content]);
}
