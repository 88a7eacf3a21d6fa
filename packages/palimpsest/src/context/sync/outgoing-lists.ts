import type { Breakpoint } from "../../cache/breakpoint.ts";
import {
  beginning,
  type ResumePoint,
  type FoundList,
  listFrom,
  messagesAhead,
  type OutgoingInput,
  type OutgoingMessage,
} from "./outgoing-list.ts";

/**
 * The outgoing lists of one conversation, one after the other. What a list and its view have in common with the ones before
 * costs a comparison of objects; messages to send are the same objects as long as nothing changes them.
 */
export class OutgoingLists {
  #last: { readonly input: OutgoingInput; readonly found: FoundList } | undefined;

  /** See `outgoingList`. */
  next(input: OutgoingInput): readonly OutgoingMessage[] | undefined {
    const last = this.#last;
    const at = last?.found.resumePoints.findLastIndex(isBefore(sameBeginning(last.input, input))) ?? -1;
    const from = last?.found.resumePoints[at];
    const rest = from === undefined ? undefined : listFrom(input, from);
    const found =
      last === undefined || from === undefined || rest === undefined
        ? listFrom(input, beginning)
        : {
            sent: [...last.found.sent.slice(0, from.sent), ...rest.sent],
            resumePoints: [...last.found.resumePoints.slice(0, at), ...rest.resumePoints],
          };
    // The lists are live.
    const kept = { ...input, messages: [...input.messages], items: [...input.items] };
    this.#last = found === undefined ? undefined : { input: kept, found };
    return found?.sent;
  }
}

/** How much two inputs begin with: the first message of the view and the first item that differ. */
function sameBeginning(one: OutgoingInput, other: OutgoingInput): { readonly group: number; readonly item: number } {
  if (messagesAhead(one) !== messagesAhead(other)) return { group: 0, item: 0 };
  const marks = [one, other].map(({ breakpoints }) => new Set(breakpoints.map(nameMark)));
  const moved = [one, other].flatMap(({ breakpoints }) =>
    breakpoints.flatMap((mark) =>
      mark.place.part === "messages" && !marks.every((names) => names.has(nameMark(mark))) ? [mark.place.message] : [],
    ),
  );
  const group = countSame(one.messages, other.messages);
  const item = Math.min(countSame(one.items, other.items), countSame(one.entries, other.entries));
  return { group: Math.min(group, ...moved), item };
}

const nameMark = (mark: Breakpoint): string => JSON.stringify(mark);

/** A point counts if what is right behind it is the same too. */
const isBefore =
  (same: { readonly group: number; readonly item: number }) =>
  ({ group, item }: ResumePoint): boolean =>
    group < same.group && item < same.item;

function countSame(one: readonly unknown[], other: readonly unknown[]): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at += 1;
  return at;
}
