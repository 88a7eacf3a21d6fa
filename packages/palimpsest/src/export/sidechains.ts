import { type EntryId, type ToolUseId, toolUseId } from "../schema/brand.ts";
import { readEntry } from "../schema/entry.ts";
import { field, isObject, type JsonObject, text } from "../schema/json.ts";
import type { SourceLine, SourceLog } from "./source-log.ts";

/** A sub-agent's own line of entries, and the call that started it where the log tells. */
export interface AgentLine {
  readonly name: string;
  readonly call: ToolUseId | undefined;
  readonly lines: readonly SourceLine[];
}

/**
 * Three ways in which logs hold sub-agents: entries marked as sidechain, logs of their own beside the session's, and
 * progress entries that quote them message by message. The call is told by the result that names the agent, by the
 * progress entry itself, or by the prompt that both begin with.
 */
export function agentLines(log: SourceLog): AgentLine[] {
  const calls = callsByAgent(log.lines);
  const found = [
    ...log.agents.map(({ name, lines }) => ({ name, lines })),
    ...byAgent(log.lines.filter(({ entry }) => entry.sidechain)),
  ];
  const known = new Set(found.map(({ name }) => name));
  const elsewhere = quotedByProgress(log.lines).filter(({ name }) => !known.has(name));
  return [
    ...found.map(({ name, lines }) => ({ name, lines, call: calls.get(name) ?? callByPrompt(log.lines, lines) })),
    ...elsewhere,
  ];
}

function callsByAgent(lines: readonly SourceLine[]): Map<string, ToolUseId> {
  const calls = new Map<string, ToolUseId>();
  for (const { raw, entry } of lines) {
    const result = field(raw, "toolUseResult");
    const agent = isObject(result) ? text(result, "agentId") : undefined;
    if (agent === undefined || entry.kind !== "user") continue;
    const block = entry.blocks.find((one) => one.type === "tool_result");
    if (block?.type === "tool_result" && !calls.has(agent)) calls.set(agent, block.tool_use_id);
  }
  return calls;
}

/** Entries of one agent, or of one tree where no agent is named. */
function byAgent(lines: readonly SourceLine[]): { name: string; lines: SourceLine[] }[] {
  const rootOf = new Map<EntryId, string>();
  const groups = new Map<string, SourceLine[]>();
  for (const line of lines) {
    const { entry, raw } = line;
    const inherited = entry.parent === null || entry.parent === undefined ? undefined : rootOf.get(entry.parent);
    const name = text(raw, "agentId") ?? inherited ?? entry.id ?? "sub-agent";
    if (entry.id !== undefined) rootOf.set(entry.id, name);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [line]);
    else group.push(line);
  }
  return [...groups].map(([name, of]) => ({ name, lines: of }));
}

function quotedByProgress(lines: readonly SourceLine[]): AgentLine[] {
  const groups = new Map<string, { call: ToolUseId | undefined; lines: SourceLine[] }>();
  for (const { raw, start, end } of lines) {
    const data = field(raw, "data");
    if (text(raw, "type") !== "progress" || !isObject(data) || text(data, "type") !== "agent_progress") continue;
    const message = field(data, "message");
    const line = isObject(message) ? quoted(message, raw) : undefined;
    if (line === undefined) continue;
    const call = text(raw, "parentToolUseID");
    const name = text(data, "agentId") ?? call ?? "sub-agent";
    const group = groups.get(name) ?? { call: call === undefined ? undefined : toolUseId(call), lines: [] };
    groups.set(name, group);
    group.lines.push({ ...line, start, end });
  }
  return [...groups].map(([name, group]) => ({ name, ...group }));
}

/** The quoted message as an entry: identity and time are those of the progress entry where it has none of its own. */
function quoted(message: JsonObject, around: JsonObject): Pick<SourceLine, "entry" | "raw"> | undefined {
  const uuid = text(message, "uuid") ?? text(around, "uuid");
  const timestamp = text(message, "timestamp") ?? text(around, "timestamp");
  const raw = {
    ...message,
    ...(uuid === undefined ? {} : { uuid }),
    ...(timestamp === undefined ? {} : { timestamp }),
  };
  const reading = readEntry(raw);
  return reading.kind === "entry" ? { entry: reading.entry, raw } : undefined;
}

function callByPrompt(lines: readonly SourceLine[], agent: readonly SourceLine[]): ToolUseId | undefined {
  const first = agent.find(({ entry }) => entry.kind === "user")?.entry;
  if (first?.kind !== "user") return undefined;
  const prompt = first.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  for (const { entry } of lines) {
    if (entry.kind !== "assistant") continue;
    for (const block of entry.blocks)
      if (block.type === "tool_use" && prompt !== "" && text(block.input, "prompt") === prompt) return block.id;
  }
  return undefined;
}
