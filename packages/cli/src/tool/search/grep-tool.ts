import { stat } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { z } from "zod";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tool";
import { resolveRealPath, isSpecialPath } from "../resolve-real-path.ts";
import { countWithNoun } from "../file/text-file.ts";
import { defineTool, toolError, wrongCall } from "../define-tool.ts";
import { errorCode } from "../error-code.ts";
import {
  searchContextLinesMax,
  searchEntriesDefault,
  searchEntriesMax,
  searchLineCharsMax,
  searchResultCharsMax,
} from "../limits.ts";
import { nameFilter, searchArgs, displayPath, type RipgrepEnd, runRipgrep } from "./run-ripgrep.ts";
import { parseJson } from "palimpsest/internal/schema/json";

export interface SearchDeps {
  /** Whether a file inside a permitted folder may be shown: a rule may forbid it. */
  readonly mayRead: (path: string) => boolean;
}

const input = z.strictObject({
  pattern: z.string().min(1).describe("Regular expression (Rust syntax)."),
  path: z.string().optional().describe("File or folder; the working directory by default."),
  glob: z.string().optional().describe("Only files like this, e.g. *.ts or src/**/*.test.ts."),
  type: z.string().optional().describe("Only files of this type, as ripgrep names it: js, py, rust, …"),
  output: z
    .enum(["files", "content", "count"])
    .optional()
    .describe("Names of files by default; else matching lines with their numbers, or a count for each file."),
  context: z
    .int()
    .min(0)
    .max(searchContextLinesMax)
    .optional()
    .describe(`Lines around each match, for content; at most ${searchContextLinesMax}.`),
  case: z.enum(["sensitive", "insensitive"]).optional().describe("sensitive by default."),
  multiline: z.boolean().optional().describe("Let matches go over line breaks."),
  head_limit: z
    .int()
    .min(1)
    .max(searchEntriesMax)
    .optional()
    .describe(`Entries shown; ${searchEntriesDefault} by default, at most ${searchEntriesMax}.`),
});

type GrepInput = z.infer<typeof input>;

export const grepTool = (deps: SearchDeps): Tool =>
  defineTool({
    name: "grep",
    description: "Search file contents with ripgrep. Leaves out what .gitignore names.",
    input,
    effect: "read",
    resultCharsMax: searchResultCharsMax,
    plan: async (request, context) => {
      const resolved = await resolveRealPath(request.path ?? ".", context.cwd);
      if (resolved.kind === "refused") return wrongCall(resolved.message);
      if (!resolved.exists) return wrongCall(`${resolved.path}: there is no such file or folder`);
      if (isSpecialPath(resolved.path)) return wrongCall(`${resolved.path}: nothing is searched there`);
      const { path } = resolved;
      return {
        kind: "ready",
        acts: [{ kind: "read", path }],
        run: (signal) => grepFiles({ deps, request, path, cwd: context.cwd, signal }),
      };
    },
  });

interface GrepRun {
  readonly deps: SearchDeps;
  readonly request: GrepInput;
  readonly path: string;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

async function grepFiles(grepRun: GrepRun): Promise<ToolOutcome> {
  const { request, path, cwd, signal } = grepRun;
  const folder = await searchFolder(path);
  if (folder === undefined) return toolError(`${path}: neither a file nor a folder any more`);
  const results = new GrepResults(grepRun, folder);
  const end = await runRipgrep({
    args: [...ripgrepArgs(request), "--", path],
    cwd,
    signal,
    separator: "\n",
    onPiece: (piece) => results.take(parseMessage(piece)),
  });
  if (end.kind === "failed") return toolError(`grep: ${end.message}`);
  const content = [...results.lines, ...results.endWords(end)].join("\n");
  return { content: content === "" ? "Nothing found." : content, summary: results.words() };
}

/**
 * The folder that a glob's names are relative to. Undefined for a pipe or device, and for a path that has become a link
 * since.
 */
async function searchFolder(path: string): Promise<string | undefined> {
  const now = await resolveRealPath(path, path);
  if (now.kind === "refused" || now.path !== path) return undefined;
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) return path;
    return stats.isFile() ? dirname(path) : undefined;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

const ripgrepArgs = (request: GrepInput): readonly string[] => [
  "--json",
  // In a fixed order, whatever the threads do: a search gives the same bytes each time.
  "--sort=path",
  ...searchArgs,
  request.case === "insensitive" ? "--ignore-case" : "--case-sensitive",
  ...(request.multiline === true ? ["--multiline", "--multiline-dotall"] : []),
  ...(request.type === undefined ? [] : [`--type=${request.type}`]),
  ...(request.output === "content" && request.context !== undefined ? [`--context=${request.context}`] : []),
  ...((request.output ?? "files") === "files" ? ["--max-count=1"] : []),
  `--regexp=${request.pattern}`,
];

/** Collects entries as they come, up to the limit. */
class GrepResults {
  readonly lines: string[] = [];
  readonly #run: GrepRun;
  readonly #folder: string;
  readonly #isNamed: (name: string) => boolean;
  #entries = 0;
  #isFileWanted = false;
  #lastLine = 0;

  constructor(grepRun: GrepRun, folder: string) {
    this.#run = grepRun;
    this.#folder = folder;
    const { glob } = grepRun.request;
    this.#isNamed = glob === undefined ? () => true : nameFilter(glob);
  }

  get #limit(): number {
    return this.#run.request.head_limit ?? searchEntriesDefault;
  }

  take(message: RipgrepMessage): "go-on" | "stop" {
    switch (message.type) {
      case "begin":
        this.#begin(message.data.path);
        return "go-on";
      case "match":
      case "context":
        return this.#isFileWanted && this.#output === "content" ? this.#takeLine(message) : "go-on";
      case "end":
        return this.#isFileWanted && this.#output !== "content" ? this.#takeFile(message.data) : "go-on";
      case "summary":
        return "go-on";
    }
  }

  get #output(): "files" | "content" | "count" {
    return this.#run.request.output ?? "files";
  }

  #begin(path: string): void {
    this.#lastLine = 0;
    this.#isFileWanted = this.#run.deps.mayRead(path) && this.#isNamed(relative(this.#folder, path));
  }

  #takeLine({ type, data }: Extract<RipgrepMessage, { type: "match" | "context" }>): "go-on" | "stop" {
    if (type === "match" && this.#entries === this.#limit) return "stop";
    if (type === "match") this.#entries += 1;
    const from = data.line_number ?? 0;
    if (this.#run.request.context !== undefined && this.lines.length > 0 && from !== this.#lastLine + 1) {
      this.lines.push("--");
    }
    const name = displayPath(data.path, this.#run.cwd);
    const mark = type === "match" ? ":" : "-";
    const texts = data.lines.replace(/\r?\n$/, "").split("\n");
    for (const [index, text] of texts.entries())
      this.lines.push(`${name}${mark}${from + index}${mark}${cutMatchLine(text)}`);
    this.#lastLine = from + texts.length - 1;
    return "go-on";
  }

  #takeFile(data: Extract<RipgrepMessage, { type: "end" }>["data"]): "go-on" | "stop" {
    if (data.stats.matched_lines === 0) return "go-on";
    if (this.#entries === this.#limit) return "stop";
    this.#entries += 1;
    const name = displayPath(data.path, this.#run.cwd);
    this.lines.push(this.#output === "count" ? `${name}: ${data.stats.matched_lines}` : name);
    return "go-on";
  }

  words(): string {
    return countWithNoun(this.#entries, this.#output === "content" ? "match" : "file");
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

const cutMatchLine = (text: string): string =>
  text.length <= searchLineCharsMax ? text : `${text.slice(0, searchLineCharsMax)} …`;

/** The parts of ripgrep's JSON output that we use. Text that is not UTF-8 comes in base64 and is decoded leniently. */
const textOrBytes = z
  .union([z.object({ text: z.string() }), z.object({ bytes: z.string() })])
  .transform((one) => ("text" in one ? one.text : Buffer.from(one.bytes, "base64").toString("utf8")));

const lineShape = z.object({ path: textOrBytes, lines: textOrBytes, line_number: z.number().nullable() });

const messageShape = z.discriminatedUnion("type", [
  z.object({ type: z.literal("begin"), data: z.object({ path: textOrBytes }) }),
  z.object({ type: z.literal("match"), data: lineShape }),
  z.object({ type: z.literal("context"), data: lineShape }),
  z.object({
    type: z.literal("end"),
    data: z.object({ path: textOrBytes, stats: z.object({ matched_lines: z.number() }) }),
  }),
  z.object({ type: z.literal("summary") }),
]);

type RipgrepMessage = z.infer<typeof messageShape>;

const parseMessage = (json: string): RipgrepMessage => messageShape.parse(parseJson(json));
