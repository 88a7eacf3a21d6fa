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

/** What the model does in one round, depending on what the request shows. */
export type ScriptStep = (seen: RequestContents) => StepReply;

export interface StepReply {
  readonly blocks: readonly MoveBlock[];
  /** `waits`: the reply only looks for something; the step runs again afterwards. */
  readonly step: "spent" | "waits";
  /** Steps to take before the remaining ones. */
  readonly follows?: readonly ScriptStep[];
}

/** A message of the user, and how the model works on it. */
export interface ScriptTask {
  readonly says: string;
  readonly steps: readonly ScriptStep[];
}

export type ToolCall = Extract<MoveBlock, { type: "tool_use" }>;

export const toolCall = (name: string, input: ToolCall["input"]): ToolCall => ({ type: "tool_use", name, input });

/** A reply without a text block if the text is empty. */
export const replyWith = (text: string, ...calls: readonly ToolCall[]): StepReply => ({
  blocks: [...(text === "" ? [] : [{ type: "text", text } as const]), ...calls],
  step: "spent",
});

export const alwaysReply =
  (text: string, ...calls: readonly ToolCall[]): ScriptStep =>
  () =>
    replyWith(text, ...calls);

interface WhenSeenInput {
  readonly pattern: RegExp;
  /** The call that finds it again if the view no longer shows it. */
  readonly look: ToolCall;
  readonly play: (found: MatchGroups, seen: RequestContents) => StepReply;
}

/** A step that needs something from the view. */
export const whenSeen =
  ({ pattern, look, play }: WhenSeenInput): ScriptStep =>
  (seen) => {
    const found = seen.find(pattern);
    return found === undefined ? lookFirst(look) : play(found, seen);
  };

export const lookFirst = (look: ToolCall): StepReply => ({
  ...replyWith("That is not in front of me any more.", look),
  step: "waits",
});

export const readCall = (path: string): ToolCall => toolCall("read", { file_path: path });
export const bashCall = (command: string): ToolCall => toolCall("bash", { command });

interface Edit {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

export const editCall = ({ path, from, to }: Edit): ToolCall =>
  toolCall("edit", { file_path: path, old_string: from, new_string: to });

/** A model that follows a script. The simulator around it counts tokens, caches and charges like a real provider. */
export interface ScriptedModel {
  readonly responder: Responder;
  startTask(task: ScriptTask): void;
  /** Refuses the next request as too long, like a provider whose window is smaller than advertised. */
  refuseNext(): void;
}

/** More attempts for one step would loop forever: what it looks for is not there. */
const looksMax = 3;

export function createScriptedModel(): ScriptedModel {
  let steps: readonly ScriptStep[] = [];
  /** Undefined if the newest reply spent no step. */
  let lastStep: ScriptStep | undefined;
  let looks = 0;
  let refusals = 0;
  const changed = new Set<string>();
  let openTodos: readonly string[] = [];
  const reply = (request: MessagesRequest): PlannedReply => {
    if (isSummaryRequest(request)) return sayBlocks([{ type: "text", text: writeSummary([...changed], openTodos) }]);
    if (refusals > 0) {
      refusals -= 1;
      return { move: { kind: "refuse", refusal: invalid("prompt is too long") } };
    }
    if (looks > looksMax) throw new Error("the demo's model looks for something that is not there");
    const seen = readRequest(request);
    const [step = doneStep] = steps;
    // An edit is refused if the file was not read since the last compaction: it is read, and the edit's step runs again.
    const repeated = seen.refusedEdit === undefined ? undefined : lastStep;
    const {
      blocks,
      step: use,
      follows = [],
    } = seen.refusedEdit === undefined || repeated === undefined ? step(seen) : readAgain(seen.refusedEdit);
    // A step is only spent when its reply has arrived: a retry gets the same reply.
    const delivered = (): void => {
      for (const path of changedPaths(blocks)) changed.add(path);
      openTodos = findOpenTodos(blocks) ?? openTodos;
      looks = use === "waits" ? looks + 1 : 0;
      if (repeated !== undefined) steps = [repeated, ...steps];
      else if (use === "spent") steps = [...follows, ...steps.slice(1)];
      lastStep = use === "spent" ? step : undefined;
    };
    return { ...sayBlocks(blocks), delivered };
  };
  return {
    responder: { name: "demo", respond: ({ request }) => reply(request) },
    startTask: (task) => {
      steps = task.steps;
      lastStep = undefined;
    },
    refuseNext: () => void (refusals += 1),
  };
}

const readAgain = (path: string): StepReply => ({
  ...replyWith("It wants to be read again first.", readCall(path)),
  step: "waits",
});

const doneStep: ScriptStep = () => replyWith("Done.");

const sayBlocks = (blocks: readonly MoveBlock[]): PlannedReply => ({ move: { kind: "say", blocks } });

const [opening = ""] = summaryPrompt({ variant: "all", previousSummary: "none" }).split("\n", 1);

const isSummaryRequest = (request: MessagesRequest): boolean => lastUserText(request).startsWith(opening);

const changedPaths = (blocks: readonly MoveBlock[]): readonly string[] =>
  blocks.flatMap((block) => {
    const isChange = block.type === "tool_use" && (block.name === "edit" || block.name === "write");
    const path = isChange ? textField(block.input, "file_path") : undefined;
    return path === undefined ? [] : [path];
  });

/** Undefined if no todo list was written. */
const findOpenTodos = (blocks: readonly MoveBlock[]): readonly string[] | undefined =>
  blocks
    .flatMap((block) => (block.type === "tool_use" && block.name === "todo" ? [readTodos(block.input) ?? []] : []))
    .at(-1)
    ?.filter(({ status }) => status !== "completed")
    .map(({ content }) => content);

/** What a request shows: the scripted model knows nothing else. */
export type RequestContents = ReturnType<typeof readRequest>;

/** The groups of a match, by their names. */
type MatchGroups = Readonly<Record<string, string>>;

function readRequest(request: MessagesRequest) {
  const newest = newestResults(request).map(stripLineNumbers).join("\n");
  const all = allTexts(request).map(stripLineNumbers).join("\n");
  const calls = collectToolCalls(request);
  return {
    /** The first match in the newest results, else the last one in the whole view. */
    find: (pattern: RegExp) => findMatches(newest, pattern)[0] ?? findMatches(all, pattern).at(-1),
    /** All matches in the newest results. */
    findAll: (pattern: RegExp) => findMatches(newest, pattern),
    /** The text of the last read of the file. Undefined if the view no longer shows it. */
    file: (path: string): string | undefined => {
      const reads = calls.filter(({ name, input }) => name === "read" && input["file_path"] === path);
      // Neither a cleared read nor one that only refers to an earlier read begins with a first line.
      const text = reads.findLast(({ result }) => result?.failed === false && /^ *1\t/.test(result.text))?.result?.text;
      return text === undefined ? undefined : stripLineNumbers(text);
    },
    /** The path of a file whose edit was refused in the newest round. */
    refusedEdit: calls
      .filter(({ name, at, result }) => name === "edit" && at === calls.at(-1)?.at && result?.failed === true)
      .map(({ input }) => textField(input, "file_path"))
      .at(0),
  };
}

const stripLineNumbers = (text: string): string => text.replaceAll(/^ *\d+\t/gm, "");

const findMatches = (text: string, pattern: RegExp): readonly MatchGroups[] =>
  [...text.matchAll(new RegExp(pattern.source, "gm"))].map((match) => ({ ...match.groups }));

/** Well-formed and true, but it omits the first changed file and every error, so that the audit has something to find. */
function writeSummary(changed: readonly string[], openTodos: readonly string[]): string {
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
