import { extractResponder } from "../../packages/simulator/src/responder/extract-responder.ts";
import type {
  MoveBlock,
  PlannedReply,
  Responder,
  RespondInput,
} from "../../packages/simulator/src/responder/responder.ts";

/** The same task for every framework: read and edit 60 files, then answer what was in the first ones. */
export const filesCount = 60;
export const windowTokens = 40_000;
export const outputTokens = 2_000;
export const systemPrompt = "You are a careful programmer. Use the tools.";

export const speakers = ["user", "model", "file"] as const;

/** Something that the conversation says once, early, and that is asked for at the end. */
export interface Fact {
  readonly saidBy: (typeof speakers)[number];
  /** What to search for. */
  readonly about: string;
  /** Appears nowhere else. */
  readonly value: string;
}

const rules = ["licence", "owner", "ticket", "branch", "reviewer"].map((about, at): Fact => {
  return { saidBy: "user", about, value: `${about}-${7_301 + 97 * at}` };
});
const decisions = [1, 2, 3, 4, 5].map((file): Fact => {
  return { saidBy: "model", about: `cache strategy of ${filePath(file)}`, value: `lease-${5_113 + 71 * file}` };
});
const constants = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((file): Fact => {
  return { saidBy: "file", about: `${fileName(file)}_PORT`, value: String(20_011 + 383 * file) };
});
export const facts: readonly Fact[] = [...rules, ...decisions, ...constants];

/** The rule that every edit needs: without it in view, the model can't write the edit as it was asked to. */
const licence = rules[0]?.value ?? "";

export const prompt = [
  `Read and edit all ${filesCount} files of src, one after the other: replace the deprecated call in each.`,
  ...rules.map(({ about, value }) => `The ${about} is ${value}.`),
  "Every edit must name the licence. At the end, report the ports of the first ten files and what you decided.",
].join("\n");

function fileName(file: number): string {
  const names = ["GAUGE", "LEDGER", "RELAY", "VALVE", "BEACON", "HOPPER", "TURBINE", "SIGNAL", "MIXER", "PUMP"];
  return `${names[(file - 1) % names.length]}_${file}`;
}

function filePath(file: number): string {
  return `src/${fileName(file).toLowerCase()}.ts`;
}

/** Between 2,400 and 9,600 characters of code, the same in every run. */
export function readFileText(path: string): string {
  const file = Number(/_(\d+)\.ts$/.exec(path)?.[1] ?? 0);
  const lines = [`// ${path}`];
  const constant = constants[file - 1];
  if (constant !== undefined) lines.push(`export const ${constant.about} = ${constant.value};`);
  for (let line = 0; line < 30 + 30 * (file % 4); line += 1) {
    const key = (file * 7_919 + line * 104_729) % 99_991;
    lines.push(
      `export const ${verbs[key % verbs.length]}${key} = (input: number) => input * ${key % 977} + offset(${line});`,
    );
  }
  return lines.join("\n");
}

const verbs = ["scale", "shift", "merge", "clamp", "round", "fold", "count", "weigh"];

export const editFile = (path: string): string => `${path} was edited.`;

/** How the scripted model did. */
export interface ModelRecord {
  /** Edits that named the licence. */
  editsRight: number;
  editsWrong: number;
  finished: boolean;
  /** The facts that it was shown in its last request. */
  visible: readonly Fact[];
}

/**
 * Reads and edits file after file, whatever it is shown, and looks up the licence for each edit in what it is shown. Asked
 * for a summary, it keeps every fact that it is shown: no real model does better.
 */
export function scriptedModel(): { readonly responder: Responder; readonly record: ModelRecord } {
  const record: ModelRecord = { editsRight: 0, editsWrong: 0, finished: false, visible: [] };
  let step = 0;
  const respond: Responder["respond"] = (input) => {
    if (isSummary(input)) return summarize(input);
    const shown = JSON.stringify(input.request.messages);
    const file = (step >> 1) + 1;
    record.visible = facts.filter(({ value }) => shown.includes(value));
    const blocks =
      file > filesCount ? finish(record) : step % 2 === 0 ? readBlocks(file) : editBlocks({ file, shown, record });
    step += 1;
    return { move: { kind: "say", blocks } };
  };
  return { responder: { name: "scripted", respond }, record };
}

/** A summary is wanted by the server for itself, without tools, or by the last message; otherwise that is a result. */
function isSummary({ purpose, request }: RespondInput): boolean {
  const last = JSON.stringify(request.messages.at(-1)?.content ?? "");
  return purpose === "compaction" || (request.tools ?? []).length === 0 || /\bsummar/i.test(last);
}

async function summarize(input: RespondInput): Promise<PlannedReply> {
  const { move, ...others } = await extractResponder.respond(input);
  if (move.kind !== "say") return { move, ...others };
  const shown = JSON.stringify(input.request.messages);
  const known = facts.filter(({ value }) => shown.includes(value)).map(({ about, value }) => `- ${about}: ${value}\n`);
  const blocks = move.blocks.map((block) =>
    block.type === "text"
      ? { ...block, text: block.text.replace("</summary>", `\n${known.join("")}</summary>`) }
      : block,
  );
  return { move: { ...move, blocks }, ...others };
}

function finish(record: ModelRecord): readonly MoveBlock[] {
  record.finished = true;
  return [{ type: "text", text: "All files are edited." }];
}

function readBlocks(file: number): readonly MoveBlock[] {
  return [
    { type: "text", text: `Next is ${filePath(file)}.` },
    { type: "tool_use", name: "read", input: { path: filePath(file) } },
  ];
}

function editBlocks(options: {
  readonly file: number;
  readonly shown: string;
  readonly record: ModelRecord;
}): readonly MoveBlock[] {
  const { file, shown, record } = options;
  const knows = shown.includes(licence);
  record[knows ? "editsRight" : "editsWrong"] += 1;
  const decision = decisions[file - 1];
  const text =
    decision === undefined ? "I replace the call." : `I decided: the ${decision.about} is ${decision.value}.`;
  // The licence is not repeated here, so that only what the user said keeps it in view.
  const replacement = `export const patched${file} = (input: number) => withLicence(input, ${knows ? '"as asked"' : "undefined"});`;
  return [
    { type: "text", text },
    { type: "tool_use", name: "edit", input: { path: filePath(file), replacement: `${replacement}\n`.repeat(4) } },
  ];
}
