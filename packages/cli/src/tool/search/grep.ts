import { stat } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { z } from "zod";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tools";
import { resolveReal } from "../confine.ts";
import { countWords } from "../count-words.ts";
import { isSpecial } from "../inside.ts";
import { defineTool, failed, wrong } from "../define.ts";
import { codeOf } from "../failure.ts";
import {
  searchContextLinesMax,
  searchEntriesDefault,
  searchEntriesMax,
  searchLineCharsMax,
  searchResultCharsMax,
} from "../limits.ts";
import { parseMessage, type RipgrepMessage } from "./message.ts";
import { nameFilter, searchedFiles, shownPath } from "./place.ts";
import { type RipgrepEnd, runRipgrep } from "./ripgrep.ts";

export interface SearchDeps {
  /** Whether a file inside a permitted folder may be shown: a rule may forbid it. */
  readonly mayRead: (path: string) => boolean;
}

const input = z.strictObject({
  pattern: z.string().min(1).describe("Regular expression (Rust syntax)."),
  path: z.string().optional().describe("File or folder; the working directory by default."),
  glob: z.string().optional().describe("Only files like this, e.g. *.ts or src/**/*.test.ts."),
  type: z.string().optional().describe("Only files of this type, as ripgrep names it: js, py, rust, …"),
  output: z.enum(["files", "content", "count"]).optional().describe("files by default."),
  context: z.int().min(0).max(searchContextLinesMax).optional().describe("Lines around each match, for content."),
  case: z.enum(["sensitive", "insensitive"]).optional().describe("sensitive by default."),
  multiline: z.boolean().optional().describe("Let matches go over line breaks."),
  head_limit: z
    .int()
    .min(1)
    .max(searchEntriesMax)
    .optional()
    .describe(`Entries shown; ${searchEntriesDefault} by default.`),
});

type GrepInput = z.infer<typeof input>;

export const grepTool = (deps: SearchDeps): Tool =>
  defineTool({
    name: "grep",
    description:
      "Search file contents with ripgrep. Leaves out what .gitignore names. " +
      "Shows names of files, matching lines with their numbers, or a count for each file.",
    input,
    effect: "read",
    resultCharsMax: searchResultCharsMax,
    plan: async (asked, context) => {
      const resolved = await resolveReal(asked.path ?? ".", context.cwd);
      if (resolved.kind === "refused") return wrong(resolved.message);
      if (!resolved.exists) return wrong(`${resolved.path}: there is no such file or folder`);
      if (isSpecial(resolved.path)) return wrong(`${resolved.path}: nothing is searched there`);
      const { path } = resolved;
      return {
        kind: "ready",
        acts: [{ kind: "read", path }],
        run: (signal) => grep({ deps, asked, path, cwd: context.cwd, signal }),
      };
    },
  });

interface Grepping {
  readonly deps: SearchDeps;
  readonly asked: GrepInput;
  readonly path: string;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

async function grep(grepping: Grepping): Promise<ToolOutcome> {
  const { asked, path, cwd, signal } = grepping;
  const folder = await folderOf(path);
  if (folder === undefined) return failed(`${path}: neither a file nor a folder any more`);
  const found = new Found(grepping, folder);
  const end = await runRipgrep({
    args: [...argsOf(asked), "--", path],
    cwd,
    signal,
    separator: "\n",
    onPiece: (piece) => found.take(parseMessage(piece)),
  });
  if (end.kind === "failed") return failed(`grep: ${end.message}`);
  const content = [...found.lines, ...found.endWords(end)].join("\n");
  return { content: content === "" ? "Nothing found." : content, summary: found.words() };
}

/** Where the names that a glob is for start. A pipe or device is not searched, nor what a link leads to that was put there since. */
async function folderOf(path: string): Promise<string | undefined> {
  const now = await resolveReal(path, path);
  if (now.kind === "refused" || now.path !== path) return undefined;
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) return path;
    return stats.isFile() ? dirname(path) : undefined;
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}

const argsOf = (asked: GrepInput): readonly string[] => [
  "--json",
  // In one order, whatever the threads do: a search gives the same bytes each time.
  "--sort=path",
  ...searchedFiles,
  asked.case === "insensitive" ? "--ignore-case" : "--case-sensitive",
  ...(asked.multiline === true ? ["--multiline", "--multiline-dotall"] : []),
  ...(asked.type === undefined ? [] : [`--type=${asked.type}`]),
  ...(asked.output === "content" && asked.context !== undefined ? [`--context=${asked.context}`] : []),
  ...((asked.output ?? "files") === "files" ? ["--max-count=1"] : []),
  `--regexp=${asked.pattern}`,
];

/** Entries as they come, up to the limit. */
class Found {
  readonly lines: string[] = [];
  readonly #grepping: Grepping;
  readonly #folder: string;
  readonly #isNamed: (name: string) => boolean;
  #entries = 0;
  #wanted = false;
  #lastLine = 0;

  constructor(grepping: Grepping, folder: string) {
    this.#grepping = grepping;
    this.#folder = folder;
    const { glob } = grepping.asked;
    this.#isNamed = glob === undefined ? () => true : nameFilter(glob);
  }

  get #limit(): number {
    return this.#grepping.asked.head_limit ?? searchEntriesDefault;
  }

  take(message: RipgrepMessage): "go-on" | "stop" {
    switch (message.type) {
      case "begin":
        this.#begin(message.data.path);
        return "go-on";
      case "match":
      case "context":
        return this.#wanted && this.#output === "content" ? this.#takeLine(message) : "go-on";
      case "end":
        return this.#wanted && this.#output !== "content" ? this.#takeFile(message.data) : "go-on";
      case "summary":
        return "go-on";
    }
  }

  get #output(): "files" | "content" | "count" {
    return this.#grepping.asked.output ?? "files";
  }

  #begin(path: string): void {
    this.#lastLine = 0;
    this.#wanted = this.#grepping.deps.mayRead(path) && this.#isNamed(relative(this.#folder, path));
  }

  #takeLine({ type, data }: Extract<RipgrepMessage, { type: "match" | "context" }>): "go-on" | "stop" {
    if (type === "match" && this.#entries === this.#limit) return "stop";
    if (type === "match") this.#entries += 1;
    const from = data.line_number ?? 0;
    if (this.#grepping.asked.context !== undefined && this.lines.length > 0 && from !== this.#lastLine + 1) {
      this.lines.push("--");
    }
    const name = shownPath(data.path, this.#grepping.cwd);
    const mark = type === "match" ? ":" : "-";
    const texts = data.lines.replace(/\r?\n$/, "").split("\n");
    for (const [index, text] of texts.entries()) this.lines.push(`${name}${mark}${from + index}${mark}${cut(text)}`);
    this.#lastLine = from + texts.length - 1;
    return "go-on";
  }

  #takeFile(data: Extract<RipgrepMessage, { type: "end" }>["data"]): "go-on" | "stop" {
    if (data.stats.matched_lines === 0) return "go-on";
    if (this.#entries === this.#limit) return "stop";
    this.#entries += 1;
    const name = shownPath(data.path, this.#grepping.cwd);
    this.lines.push(this.#output === "count" ? `${name}: ${data.stats.matched_lines}` : name);
    return "go-on";
  }

  words(): string {
    return countWords(this.#entries, this.#output === "content" ? "match" : "file");
  }

  endWords(end: RipgrepEnd): readonly string[] {
    if (end.kind !== "cut") return [];
    switch (end.why) {
      case "stopped":
        return [`(only the first ${this.#entries}; narrow the search or raise head_limit)`];
      case "timed-out":
        return ["(the search took too long and was ended here; narrow it)"];
      case "aborted":
        return ["(interrupted)"];
    }
  }
}

const cut = (text: string): string =>
  text.length <= searchLineCharsMax ? text : `${text.slice(0, searchLineCharsMax)} …`;
