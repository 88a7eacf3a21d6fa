import type { SaidBlock } from "@palimpsest/simulator/internal/actor/actor";
import type { Found, Seen } from "./seen.ts";

/** What the model does in a round, by what it is shown then. */
export type Step = (seen: Seen) => Played;

export interface Played {
  readonly blocks: readonly SaidBlock[];
  /** `waits`: it has to look first, and comes again. */
  readonly step: "spent" | "waits";
  /** What it has decided to do before it goes on with its steps. */
  readonly follows?: readonly Step[];
}

/** One message of the person's, and how the model works on it. */
export interface Task {
  readonly says: string;
  readonly steps: readonly Step[];
}

type Call = Extract<SaidBlock, { type: "tool_use" }>;

export const call = (name: string, input: Call["input"]): Call => ({ type: "tool_use", name, input });

/** One reply; without a word where these are empty. */
export const act = (words: string, ...calls: readonly Call[]): Played => ({
  blocks: [...(words === "" ? [] : [{ type: "text", text: words } as const]), ...calls],
  step: "spent",
});

export const always =
  (words: string, ...calls: readonly Call[]): Step =>
  () =>
    act(words, ...calls);

export interface Looked {
  readonly pattern: RegExp;
  /** How it is looked for where it is not shown any more. */
  readonly look: Call;
  readonly play: (found: Found, seen: Seen) => Played;
}

/** A step that needs something it was shown. */
export const knowing =
  ({ pattern, look, play }: Looked): Step =>
  (seen) => {
    const found = seen.find(pattern);
    return found === undefined ? lookFirst(look) : play(found, seen);
  };

/** A step that needs the text of a file. */
export const knowingFile =
  (path: string, play: (text: string, seen: Seen) => Played): Step =>
  (seen) => {
    const text = seen.file(path);
    return text === undefined ? lookFirst(read(path)) : play(text, seen);
  };

const lookFirst = (look: Call): Played => ({ ...act("That is not in front of me any more.", look), step: "waits" });

export const read = (path: string): Call => call("read", { file_path: path });
export const bash = (command: string): Call => call("bash", { command });

export interface TextEdit {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

export const edit = ({ path, from, to }: TextEdit): Call =>
  call("edit", { file_path: path, old_string: from, new_string: to });
