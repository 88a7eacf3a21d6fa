import { summaryPrompt } from "palimpsest/internal/layers/4-compact/prompt";
import { textField } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { Responder, MoveBlock, PlannedReply } from "@palimpsest/simulator/internal/responder/responder";
import {
  lastUserText,
  allTexts,
  collectToolCalls,
  newestResults,
} from "@palimpsest/simulator/internal/responder/request-text";
import { invalid } from "@palimpsest/simulator/internal/refusal";
import { readTodos } from "../tool/todo-tool.ts";
import { summarySections } from "palimpsest/internal/layers/4-compact/summary-sections";

/** What the model does in a round, by what it is shown then. */
export type ScriptStep = (seen: RequestContents) => StepReply;

export interface StepReply {
  readonly blocks: readonly MoveBlock[];
  /** `waits`: it has to look first, and comes again. */
  readonly step: "spent" | "waits";
  /** What it has decided to do before it goes on with its steps. */
  readonly follows?: readonly ScriptStep[];
}

/** One message of the person's, and how the model works on it. */
export interface ScriptTask {
  readonly says: string;
  readonly steps: readonly ScriptStep[];
}

type ToolCall = Extract<MoveBlock, { type: "tool_use" }>;

export const toolCall = (name: string, input: ToolCall["input"]): ToolCall => ({ type: "tool_use", name, input });

/** One reply; without a word where these are empty. */
export const replyWith = (words: string, ...calls: readonly ToolCall[]): StepReply => ({
  blocks: [...(words === "" ? [] : [{ type: "text", text: words } as const]), ...calls],
  step: "spent",
});

export const alwaysReply =
  (words: string, ...calls: readonly ToolCall[]): ScriptStep =>
  () =>
    replyWith(words, ...calls);

interface WhenSeenInput {
  readonly pattern: RegExp;
  /** How it is looked for where it is not shown any more. */
  readonly look: ToolCall;
  readonly play: (found: MatchGroups, seen: RequestContents) => StepReply;
}

/** A step that needs something it was shown. */
export const whenSeen =
  ({ pattern, look, play }: WhenSeenInput): ScriptStep =>
  (seen) => {
    const found = seen.find(pattern);
    return found === undefined ? lookFirst(look) : play(found, seen);
  };

/** A step that needs the text of a file. */
export const whenFileSeen =
  (path: string, play: (text: string, seen: RequestContents) => StepReply): ScriptStep =>
  (seen) => {
    const text = seen.file(path);
    return text === undefined ? lookFirst(readCall(path)) : play(text, seen);
  };

const lookFirst = (look: ToolCall): StepReply => ({
  ...replyWith("That is not in front of me any more.", look),
  step: "waits",
});

export const readCall = (path: string): ToolCall => toolCall("read", { file_path: path });
export const bashCall = (command: string): ToolCall => toolCall("bash", { command });

export const editCall = ({
  path,
  from,
  to,
}: {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}): ToolCall => toolCall("edit", { file_path: path, old_string: from, new_string: to });

/** A model with a script; the simulator around it counts, caches and charges like the real one. */
export interface ScriptedModel {
  readonly responder: Responder;
  /** What it works on from now on. */
  startTask(task: ScriptTask): void;
  /** The next request is refused as too long, as by a provider that has less room than it said. */
  refuseNext(): void;
}

/** More looks for one step are a loop: what it looks for is not there. */
const looksMax = 3;

export function createScriptedModel(): ScriptedModel {
  let steps: readonly ScriptStep[] = [];
  let before: ScriptStep | undefined;
  let looks = 0;
  let refuses = 0;
  const changed = new Set<string>();
  let openTodos: readonly string[] = [];
  const play = (request: MessagesRequest): PlannedReply => {
    if (isSummaryRequest(request))
      return sayBlocks([{ type: "text", text: writeSummary({ changed: [...changed], openTodos }) }]);
    if (refuses > 0) {
      refuses -= 1;
      return { move: { kind: "refuse", refusal: invalid("prompt is too long") } };
    }
    if (looks > looksMax) throw new Error("the demo's model looks for something that is not there");
    const seen = readRequest(request);
    const [step = doneStep] = steps;
    const refused = before === undefined ? undefined : seen.refusedEdit;
    const played = refused === undefined ? step(seen) : readFirst(refused);
    // A step is spent when its reply has arrived: who asks again hears the same.
    const delivered = (): void => {
      for (const path of pathsChanged(played.blocks)) changed.add(path);
      openTodos = findOpenTodos(played.blocks) ?? openTodos;
      looks = played.step === "waits" ? looks + 1 : 0;
      if (refused !== undefined && before !== undefined) steps = [before, ...steps];
      else if (played.step === "spent") steps = [...(played.follows ?? []), ...steps.slice(1)];
      before = refused === undefined && played.step === "spent" ? step : undefined;
    };
    return { ...sayBlocks(played.blocks), delivered };
  };
  return {
    responder: { name: "demo", respond: ({ request }) => play(request) },
    startTask: (task) => {
      steps = task.steps;
      before = undefined;
    },
    refuseNext: () => void (refuses += 1),
  };
}

/** An edit is refused where the file was not read since the last compaction: then the step of that edit comes again. */
const readFirst = (path: string): StepReply => ({
  ...replyWith("It wants to be read again first.", readCall(path)),
  step: "waits",
});

const doneStep: ScriptStep = () => replyWith("Done.");

const sayBlocks = (blocks: readonly MoveBlock[]): PlannedReply => ({ move: { kind: "say", blocks } });

const [opening = ""] = summaryPrompt({ variant: "all", previousSummary: "none" }).split("\n", 1);

const isSummaryRequest = (request: MessagesRequest): boolean => lastUserText(request).startsWith(opening);

const pathsChanged = (blocks: readonly MoveBlock[]): readonly string[] =>
  blocks.flatMap((block) => {
    const isChange = block.type === "tool_use" && (block.name === "edit" || block.name === "write");
    const path = isChange ? textField(block.input, "file_path") : undefined;
    return path === undefined ? [] : [path];
  });

/** Undefined where no list was given. */
const findOpenTodos = (blocks: readonly MoveBlock[]): readonly string[] | undefined =>
  blocks
    .flatMap((block) => (block.type === "tool_use" && block.name === "todo" ? [readTodos(block.input) ?? []] : []))
    .at(-1)
    ?.filter(({ status }) => status !== "completed")
    .map(({ content }) => content);

/** What a request shows. The scripted model knows nothing else. */
export interface RequestContents {
  /** What this finds: in the newest results, else the last place in the whole view. Undefined where it is not shown. */
  find(pattern: RegExp): MatchGroups | undefined;
  /** All that this finds in the newest results. */
  findAll(pattern: RegExp): readonly MatchGroups[];
  /** The whole file, as far as it was read or put back last. Undefined where it is not shown. */
  file(path: string): string | undefined;
  shows(words: string): boolean;
  /** Of a file whose edit was refused in the newest round. */
  readonly refusedEdit: string | undefined;
}

/** The groups of a match, by their names. */
type MatchGroups = Readonly<Record<string, string>>;

function readRequest(request: MessagesRequest): RequestContents {
  const newest = newestResults(request).map(stripLineNumbers).join("\n");
  const all = allTexts(request).map(stripLineNumbers).join("\n");
  const calls = collectToolCalls(request);
  return {
    find: (pattern) => findMatches(newest, pattern)[0] ?? findMatches(all, pattern).at(-1),
    findAll: (pattern) => findMatches(newest, pattern),
    file: (path) => {
      const read = calls.findLast(
        ({ name, input, result }) => name === "read" && input["file_path"] === path && isReadText(result),
      );
      return read?.result === undefined ? undefined : stripLineNumbers(read.result.text);
    },
    shows: (words) => all.includes(words),
    refusedEdit: findRefusedEdit(calls),
  };
}

type Calls = ReturnType<typeof collectToolCalls>;

/** A read that only points at an earlier one, and one that was cleared, show nothing. */
const isReadText = (result: Calls[number]["result"]): boolean =>
  result !== undefined && !result.failed && firstLineNumber.test(result.text);

const firstLineNumber = /^ *1\t/;

const stripLineNumbers = (text: string): string => text.replaceAll(/^ *\d+\t/gm, "");

const findMatches = (text: string, pattern: RegExp): readonly MatchGroups[] =>
  [...text.matchAll(new RegExp(pattern.source, "gm"))].map((match) => ({ ...match.groups }));

function findRefusedEdit(calls: Calls): string | undefined {
  const last = calls.at(-1)?.at;
  const refused = calls.find(({ name, at, result }) => name === "edit" && at === last && result?.failed === true);
  const path = refused?.input["file_path"];
  return typeof path === "string" ? path : undefined;
}

/** In the form that was asked for and true, but it forgets the first file that was changed, and every error: the audit finds out. */
function writeSummary({
  changed,
  openTodos,
}: {
  readonly changed: readonly string[];
  readonly openTodos: readonly string[];
}): string {
  const bodyByTitle: Readonly<Record<string, string>> = {
    "Primary Request and Intent":
      "A failing test was to be fixed the way the project does that; then the modules are to write times by their names.",
    "Key Technical Concepts": "Gauges send UTC; a day is a day at the gauge. Tests run with node --test.",
    "Files and Code Sections": formatList(changed.slice(1).map((path) => `${path}: changed`)),
    "Problem Solving": "The cause was two imports away from the test that failed.",
    "Pending Tasks": formatList(openTodos),
    "Current Work": "The project was being changed module by module.",
  };
  return [
    "<analysis>What was asked, what was changed, what is open.</analysis>",
    "<summary>",
    ...summarySections("all").map(
      ({ title }, at) => `${at + 1}. ${title}:\n${bodyByTitle[title] ?? "Nothing of note."}\n`,
    ),
    "</summary>",
  ].join("\n");
}

const formatList = (lines: readonly string[]): string =>
  lines.length === 0 ? "None." : lines.map((line) => `- ${line}`).join("\n");
