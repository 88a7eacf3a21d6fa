import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { allTexts, callsOf, newestResults } from "@palimpsest/simulator/internal/actor/request-text";

/** What a request shows. The scripted model knows nothing else. */
export interface Seen {
  /** What this finds: in the newest results, else the last place in the whole view. Undefined where it is not shown. */
  find(pattern: RegExp): Found | undefined;
  /** All that this finds in the newest results. */
  findAll(pattern: RegExp): readonly Found[];
  /** The whole file, as far as it was read or put back last. Undefined where it is not shown. */
  file(path: string): string | undefined;
  shows(words: string): boolean;
  /** Of a file whose edit was refused in the newest round. */
  readonly refusedEdit: string | undefined;
}

/** The groups of a match, by their names. */
export type Found = Readonly<Record<string, string>>;

export function seenIn(request: MessagesRequest): Seen {
  const newest = newestResults(request).map(withoutNumbers).join("\n");
  const all = allTexts(request).map(withoutNumbers).join("\n");
  const calls = callsOf(request);
  return {
    find: (pattern) => matches(newest, pattern)[0] ?? matches(all, pattern).at(-1),
    findAll: (pattern) => matches(newest, pattern),
    file: (path) => {
      const read = calls.findLast(
        ({ name, input, result }) => name === "read" && input["file_path"] === path && isText(result),
      );
      return read?.result === undefined ? undefined : withoutNumbers(read.result.text);
    },
    shows: (words) => all.includes(words),
    refusedEdit: refusedIn(calls),
  };
}

type Calls = ReturnType<typeof callsOf>;

/** A read that only points at an earlier one, and one that was cleared, show nothing. */
const isText = (result: Calls[number]["result"]): boolean =>
  result !== undefined && !result.failed && firstNumber.test(result.text);

const firstNumber = /^ *1\t/;

const withoutNumbers = (text: string): string => text.replaceAll(/^ *\d+\t/gm, "");

const matches = (text: string, pattern: RegExp): readonly Found[] =>
  [...text.matchAll(new RegExp(pattern.source, "gm"))].map((match) => ({ ...match.groups }));

function refusedIn(calls: Calls): string | undefined {
  const last = calls.at(-1)?.at;
  const refused = calls.find(({ name, at, result }) => name === "edit" && at === last && result?.failed === true);
  const path = refused?.input["file_path"];
  return typeof path === "string" ? path : undefined;
}
