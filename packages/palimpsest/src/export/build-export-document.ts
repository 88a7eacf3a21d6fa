import { type EntryId, type ToolUseId, toolUseId } from "../schema/brand.ts";
import { field, isObject, textField, type JsonObject } from "../schema/json.ts";
import { userTypedText } from "../transcript/user-text.ts";
import { Contents, numberIn, buildParts } from "./build-parts.ts";
import type { Branch, ExportDocument, Sidechain, DocumentOptions, SourceLine, SourceLog } from "./export-document.ts";
import { readEntry } from "../schema/entry.ts";

const titleCharsMax = 120;

/** Builds the document of a log. Nothing is left out silently: entries without a part are counted in the header. */
export function buildExportDocument(log: SourceLog, options: DocumentOptions): ExportDocument {
  const sidechains = collectSidechains(log, options);
  const nested = new Set<Sidechain>();
  const sidechainsOf = (call: ToolUseId): readonly Sidechain[] => {
    const ofCall = sidechains.get(call) ?? [];
    for (const sidechain of ofCall) nested.add(sidechain);
    return ofCall;
  };
  const shownLines = log.lines.filter((line) => isShown(log, line));
  const contents = createContents(log, options, { lines: shownLines, sidechainsOf });
  const parts = buildParts(shownLines, { contents, mode: options.mode, undone: log.undone });
  const branches = options.mode === "plain" ? [] : collectBranches(log, options, sidechainsOf);
  return {
    title: documentTitle(log),
    header: documentHeader(log),
    parts,
    sidechains: [...sidechains.values()].flat().filter((sidechain) => !nested.has(sidechain)),
    branches,
    damage: options.mode === "plain" ? [] : damageLines(log),
  };
}

/** An entry on the path, or one off the path that starts no branch: a system note or the origin of a copy. */
function isShown(log: SourceLog, { entry }: SourceLine): boolean {
  if (entry.kind === "other") return !entry.sidechain;
  if (entry.kind === "edit" && entry.edit.type === "origin") return true;
  return entry.id !== undefined && log.isOnPath(entry.id);
}

interface ShownLines {
  readonly lines: readonly SourceLine[];
  readonly sidechainsOf: (call: ToolUseId) => readonly Sidechain[];
}

const createContents = (log: SourceLog, options: DocumentOptions, { lines, sidechainsOf }: ShownLines): Contents =>
  new Contents(log, { ...options, entries: lines.map(({ entry }) => entry), sidechainsOf });

function collectSidechains(log: SourceLog, options: DocumentOptions): Map<ToolUseId | undefined, Sidechain[]> {
  const agents = agentLines(log).filter(({ lines }) =>
    lines.every(({ entry }) => entry.id === undefined || !log.isOnPath(entry.id)),
  );
  return new Map(
    [...Map.groupBy(agents, ({ call }) => call)].map(([call, group]) => [
      call,
      group.map(({ name, lines }) => ({
        name,
        parts: buildParts(lines, {
          contents: createContents(log, options, { lines, sidechainsOf: () => [] }),
          mode: options.mode,
          undone: log.undone,
        }),
      })),
    ]),
  );
}

/** The entries off the path, grouped by the entry at which they leave it. */
function collectBranches(log: SourceLog, options: DocumentOptions, sidechainsOf: ShownLines["sidechainsOf"]): Branch[] {
  const rootByEntry = new Map<EntryId, string>();
  const groups = new Map<string, SourceLine[]>();
  const sideLog = log.path.some((entry) => entry.sidechain);
  for (const line of log.lines) {
    const { entry } = line;
    if (entry.kind === "other" || entry.id === undefined || entry.sidechain !== sideLog) continue;
    if (isShown(log, line) || rootByEntry.has(entry.id)) continue;
    const parent = entry.parent ?? entry.logicalParent;
    const root = (parent === undefined ? undefined : rootByEntry.get(parent)) ?? parent ?? "the beginning";
    rootByEntry.set(entry.id, root);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [line]);
    else group.push(line);
  }
  return [...groups].map(([from, lines]) => ({
    from,
    parts: buildParts(lines, {
      contents: createContents(log, options, { lines, sidechainsOf }),
      mode: options.mode,
      undone: log.undone,
    }),
  }));
}

function documentTitle(log: SourceLog): string {
  const newest = (type: string, key: string): string | undefined =>
    log.lines.flatMap(({ raw }) => (textField(raw, "type") === type ? (textField(raw, key) ?? []) : [])).at(-1);
  const first = log.path.map((entry) => userTypedText(entry)).find((typed) => typed !== undefined);
  const title =
    newest("custom-title", "customTitle") ?? newest("ai-title", "aiTitle") ?? newest("summary", "summary") ?? first;
  const line = (title ?? log.name).replaceAll(/\s+/g, " ").trim();
  const characters = Array.from(line.slice(0, 2 * titleCharsMax));
  return characters.length > titleCharsMax ? `${characters.slice(0, titleCharsMax - 1).join("")}…` : line;
}

function documentHeader(log: SourceLog): (readonly [string, string])[] {
  const times = log.lines.flatMap(({ entry }) => (entry.timestamp === undefined ? [] : [entry.timestamp])).toSorted();
  const source = log.lines.find(({ raw }) => textField(raw, "cwd") !== undefined)?.raw;
  const rows: [string, string | undefined][] = [
    ["Session", log.name],
    [
      "Source",
      log.origin === "ours" ? "palimpsest" : `another tool's log${log.format === undefined ? "" : ` (${log.format})`}`,
    ],
    ["From", times[0]],
    ["To", times.at(-1)],
    ["Models", modelsText(log)],
    ["Folder", source === undefined ? undefined : textField(source, "cwd")],
    ["Branch", source === undefined ? undefined : textField(source, "gitBranch")],
    ["Messages", messagesText(log)],
    ["Tokens", usageText(log)],
    ["Edits", editsText(log)],
    ["Left out", omissionsText(log)],
  ];
  return rows.flatMap(([label, value]) => (value === undefined || value === "" ? [] : [[label, value] as const]));
}

const amount = (value: number): string => value.toLocaleString("en-US");
const countByValue = (values: readonly string[]): string =>
  [...Map.groupBy(values, (value) => value)].map(([value, all]) => `${value} (${amount(all.length)})`).join(", ");

function modelsText(log: SourceLog): string {
  const models = [...listReplies(log).values()].flatMap(({ raw }) => {
    const message = field(raw, "message");
    const model = isObject(message) ? textField(message, "model") : undefined;
    return model === undefined || model === "<synthetic>" ? [] : [model];
  });
  return countByValue(models);
}

const everyLine = (log: SourceLog): SourceLine[] => [...log.lines, ...log.agents.flatMap(({ lines }) => lines)];

/** The first entry of each reply, including those of sub-agents. */
function listReplies(log: SourceLog): Map<string, SourceLine> {
  const replies = new Map<string, SourceLine>();
  for (const line of everyLine(log)) {
    const { entry } = line;
    if (entry.kind !== "assistant" || entry.synthetic) continue;
    const id = entry.messageId ?? entry.id ?? String(line.start);
    if (!replies.has(id)) replies.set(id, line);
  }
  return replies;
}

function messagesText(log: SourceLog): string {
  const typed = log.path.filter((entry) => userTypedText(entry) !== undefined).length;
  const replies = new Set(
    log.path.flatMap((entry) => (entry.kind === "assistant" && !entry.synthetic ? [entry.messageId ?? entry.id] : [])),
  );
  const calls = log.path.flatMap((entry) =>
    entry.kind === "assistant" ? entry.blocks.filter(({ type }) => type === "tool_use") : [],
  );
  return `${amount(typed)} by the user, ${amount(replies.size)} replies, ${amount(calls.length)} calls`;
}

const usageKeys = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"] as const;

/**
 * The provider's token counts; undefined for a log without usage. The entries of one reply repeat its usage, and the
 * output count grows while it streams, so the largest count is used.
 */
function usageText(log: SourceLog): string | undefined {
  const byReply = new Map<string, number[]>();
  for (const { entry, raw, start } of everyLine(log)) {
    const message = field(raw, "message");
    const usage = isObject(message) ? field(message, "usage") : undefined;
    if (entry.kind !== "assistant" || !isObject(usage)) continue;
    const reply = entry.messageId ?? entry.id ?? String(start);
    const earlier = byReply.get(reply) ?? [];
    byReply.set(
      reply,
      usageKeys.map((key, at) => Math.max(earlier[at] ?? 0, numberIn(usage, key) ?? 0)),
    );
  }
  const [input = 0, written = 0, read = 0, output = 0] = usageKeys.map((_, at) =>
    byReply.values().reduce((sum, figures) => sum + (figures[at] ?? 0), 0),
  );
  if (input + written + read + output === 0) return undefined;
  return `${amount(input)} input, ${amount(written)} written to the cache, ${amount(read)} read from it, ${amount(output)} output (as the provider counted)`;
}

function editsText(log: SourceLog): string {
  const edits = log.path.flatMap((entry) => (entry.kind === "edit" ? [entry] : []));
  if (edits.length === 0) return "";
  const undone = edits.filter(({ id }) => log.undone.has(id)).length;
  return `${countByValue(edits.map(({ edit }) => edit.type))}${undone === 0 ? "" : `; ${amount(undone)} undone`}`;
}

function omissionsText(log: SourceLog): string {
  const others = log.lines.flatMap(({ entry, raw }) => {
    const type = textField(raw, "type") ?? "";
    const subtype = textField(raw, "subtype");
    const content = textField(raw, "content");
    if (entry.kind !== "other" || (type === "system" && content !== undefined && content.trim() !== "")) return [];
    return [subtype === undefined ? type : `${type}/${subtype}`];
  });
  return countByValue(others);
}

const damageLines = ({ damage, problems }: SourceLog): string[] => [
  ...damage.map(({ kind, start, end, detail }) => `${kind}, bytes ${start}–${end}: ${detail}`),
  ...problems,
];

/** The entries of one sub-agent, and the call that started it if the log shows it. */
interface AgentLine {
  readonly name: string;
  readonly call: ToolUseId | undefined;
  readonly lines: readonly SourceLine[];
}

/**
 * Logs hold sub-agents in three ways: as entries marked as sidechain, as separate logs next to the session's, and as
 * progress entries that quote their messages. The call is found by the result that names the agent, by the progress entry
 * itself, or by the prompt, which is the same in the call and in the sub-agent's first message.
 */
function agentLines(log: SourceLog): AgentLine[] {
  const calls = callsByAgent(log.lines);
  const agents = [
    ...log.agents.map(({ name, lines }) => ({ name, lines })),
    ...groupByAgent(log.lines.filter(({ entry }) => entry.sidechain)),
  ];
  const names = new Set(agents.map(({ name }) => name));
  const onlyInProgress = findAgentsInProgress(log.lines).filter(({ name }) => !names.has(name));
  return [
    ...agents.map(({ name, lines }) => ({ name, lines, call: calls.get(name) ?? findCallByPrompt(log.lines, lines) })),
    ...onlyInProgress,
  ];
}

function callsByAgent(lines: readonly SourceLine[]): Map<string, ToolUseId> {
  const calls = new Map<string, ToolUseId>();
  for (const { raw, entry } of lines) {
    const result = field(raw, "toolUseResult");
    const agent = isObject(result) ? textField(result, "agentId") : undefined;
    if (agent === undefined || entry.kind !== "user") continue;
    const resultBlock = entry.blocks.find((block) => block.type === "tool_result");
    if (resultBlock?.type === "tool_result" && !calls.has(agent)) calls.set(agent, resultBlock.tool_use_id);
  }
  return calls;
}

/** Groups entries by agent, or by tree if no agent is named. */
function groupByAgent(lines: readonly SourceLine[]): { name: string; lines: SourceLine[] }[] {
  const agentByEntry = new Map<EntryId, string>();
  const groups = new Map<string, SourceLine[]>();
  for (const line of lines) {
    const { entry, raw } = line;
    const inherited = entry.parent === null || entry.parent === undefined ? undefined : agentByEntry.get(entry.parent);
    const name = textField(raw, "agentId") ?? inherited ?? entry.id ?? "sub-agent";
    if (entry.id !== undefined) agentByEntry.set(entry.id, name);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [line]);
    else group.push(line);
  }
  return [...groups].map(([name, agentEntries]) => ({ name, lines: agentEntries }));
}

function findAgentsInProgress(lines: readonly SourceLine[]): AgentLine[] {
  const groups = new Map<string, { call: ToolUseId | undefined; lines: SourceLine[] }>();
  for (const { raw, start, end } of lines) {
    const data = field(raw, "data");
    if (textField(raw, "type") !== "progress" || !isObject(data) || textField(data, "type") !== "agent_progress")
      continue;
    const message = field(data, "message");
    const line = isObject(message) ? entryFromProgress(message, raw) : undefined;
    if (line === undefined) continue;
    const call = textField(raw, "parentToolUseID");
    const name = textField(data, "agentId") ?? call ?? "sub-agent";
    const group = groups.get(name) ?? { call: call === undefined ? undefined : toolUseId(call), lines: [] };
    groups.set(name, group);
    group.lines.push({ ...line, start, end });
  }
  return [...groups].map(([name, group]) => ({ name, ...group }));
}

/** The quoted message as an entry. If it has no id or time, it gets those of the progress entry. */
function entryFromProgress(message: JsonObject, progress: JsonObject): Pick<SourceLine, "entry" | "raw"> | undefined {
  const uuid = textField(message, "uuid") ?? textField(progress, "uuid");
  const timestamp = textField(message, "timestamp") ?? textField(progress, "timestamp");
  const raw = {
    ...message,
    ...(uuid === undefined ? {} : { uuid }),
    ...(timestamp === undefined ? {} : { timestamp }),
  };
  const reading = readEntry(raw);
  return reading.kind === "entry" ? { entry: reading.entry, raw } : undefined;
}

function findCallByPrompt(lines: readonly SourceLine[], agent: readonly SourceLine[]): ToolUseId | undefined {
  const first = agent.find(({ entry }) => entry.kind === "user")?.entry;
  if (first?.kind !== "user") return undefined;
  const prompt = first.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  for (const { entry } of lines) {
    if (entry.kind !== "assistant") continue;
    for (const block of entry.blocks)
      if (block.type === "tool_use" && prompt !== "" && textField(block.input, "prompt") === prompt) return block.id;
  }
  return undefined;
}
