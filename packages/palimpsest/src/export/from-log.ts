import type { EntryId, ToolUseId } from "../schema/brand.ts";
import { field, isObject, text } from "../schema/json.ts";
import { typedText } from "../transcript/person.ts";
import { Contents, numberIn } from "./content.ts";
import type { Branch, ExportDocument, Sidechain } from "./document.ts";
import { partsOf } from "./parts.ts";
import { agentLines } from "./sidechains.ts";
import type { DocumentOptions, SourceLine, SourceLog } from "./source-log.ts";

const titleCharsMax = 120;

/** The document of a log. Nothing of it is left out silently: what is not told is counted in the header. */
export function documentOf(log: SourceLog, options: DocumentOptions): ExportDocument {
  const sidechains = sidechainsOf(log, options);
  const told = new Set<Sidechain>();
  const byCall = (call: ToolUseId): readonly Sidechain[] => {
    const of = sidechains.get(call) ?? [];
    for (const one of of) told.add(one);
    return of;
  };
  const onPath = log.lines.filter((line) => isTold(log, line));
  const contents = contentsOf(log, options, { lines: onPath, sidechainsOf: byCall });
  const parts = partsOf(onPath, { contents, mode: options.mode, undone: log.undone });
  const branches = options.mode === "plain" ? [] : branchesOf(log, options, byCall);
  return {
    title: titleOf(log),
    header: headerOf(log),
    parts,
    sidechains: [...sidechains.values()].flat().filter((one) => !told.has(one)),
    branches,
    damage: options.mode === "plain" ? [] : damageOf(log),
  };
}

/** On the path, or beside it without a branch of its own: notes of the system and the origin of a copy. */
function isTold(log: SourceLog, { entry }: SourceLine): boolean {
  if (entry.kind === "other") return !entry.sidechain;
  if (entry.kind === "edit" && entry.edit.type === "origin") return true;
  return entry.id !== undefined && log.isOnPath(entry.id);
}

interface Told {
  readonly lines: readonly SourceLine[];
  readonly sidechainsOf: (call: ToolUseId) => readonly Sidechain[];
}

const contentsOf = (log: SourceLog, options: DocumentOptions, { lines, sidechainsOf: nested }: Told): Contents =>
  new Contents(log, { ...options, entries: lines.map(({ entry }) => entry), sidechainsOf: nested });

function sidechainsOf(log: SourceLog, options: DocumentOptions): Map<ToolUseId | undefined, Sidechain[]> {
  const agents = agentLines(log).filter(({ lines }) =>
    lines.every(({ entry }) => entry.id === undefined || !log.isOnPath(entry.id)),
  );
  return new Map(
    [...Map.groupBy(agents, ({ call }) => call)].map(([call, group]) => [
      call,
      group.map(({ name, lines }) => ({
        name,
        parts: partsOf(lines, {
          contents: contentsOf(log, options, { lines, sidechainsOf: () => [] }),
          mode: options.mode,
          undone: log.undone,
        }),
      })),
    ]),
  );
}

/** Entries beside the path, by the place where their line leaves it. */
function branchesOf(log: SourceLog, options: DocumentOptions, nested: Told["sidechainsOf"]): Branch[] {
  const rootOf = new Map<EntryId, string>();
  const groups = new Map<string, SourceLine[]>();
  const sideLog = log.path.some((entry) => entry.sidechain);
  for (const line of log.lines) {
    const { entry } = line;
    if (entry.kind === "other" || entry.id === undefined || entry.sidechain !== sideLog) continue;
    if (isTold(log, line) || rootOf.has(entry.id)) continue;
    const parent = entry.parent ?? entry.logicalParent;
    const root = (parent === undefined ? undefined : rootOf.get(parent)) ?? parent ?? "the beginning";
    rootOf.set(entry.id, root);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [line]);
    else group.push(line);
  }
  return [...groups].map(([from, lines]) => ({
    from,
    parts: partsOf(lines, {
      contents: contentsOf(log, options, { lines, sidechainsOf: nested }),
      mode: options.mode,
      undone: log.undone,
    }),
  }));
}

function titleOf(log: SourceLog): string {
  const named = (type: string, key: string): string | undefined =>
    log.lines.flatMap(({ raw }) => (text(raw, "type") === type ? (text(raw, key) ?? []) : [])).at(-1);
  const first = log.path.map((entry) => typedText(entry)).find((typed) => typed !== undefined);
  const title =
    named("custom-title", "customTitle") ?? named("ai-title", "aiTitle") ?? named("summary", "summary") ?? first;
  const line = (title ?? log.name).replaceAll(/\s+/g, " ").trim();
  const characters = Array.from(line.slice(0, 2 * titleCharsMax));
  return characters.length > titleCharsMax ? `${characters.slice(0, titleCharsMax - 1).join("")}…` : line;
}

function headerOf(log: SourceLog): (readonly [string, string])[] {
  const times = log.lines.flatMap(({ entry }) => (entry.timestamp === undefined ? [] : [entry.timestamp])).toSorted();
  const source = log.lines.find(({ raw }) => text(raw, "cwd") !== undefined)?.raw;
  const rows: [string, string | undefined][] = [
    ["Session", log.name],
    [
      "Source",
      log.origin === "ours" ? "palimpsest" : `another tool's log${log.format === undefined ? "" : ` (${log.format})`}`,
    ],
    ["From", times[0]],
    ["To", times.at(-1)],
    ["Models", modelsOf(log)],
    ["Folder", source === undefined ? undefined : text(source, "cwd")],
    ["Branch", source === undefined ? undefined : text(source, "gitBranch")],
    ["Messages", messagesText(log)],
    ["Tokens", usageText(log)],
    ["Edits", editsText(log)],
    ["Not told", untoldText(log)],
  ];
  return rows.flatMap(([label, value]) => (value === undefined || value === "" ? [] : [[label, value] as const]));
}

const amount = (value: number): string => value.toLocaleString("en-US");
const counted = (values: readonly string[]): string =>
  [...Map.groupBy(values, (value) => value)].map(([value, all]) => `${value} (${amount(all.length)})`).join(", ");

function modelsOf(log: SourceLog): string {
  const models = [...repliesOf(log).values()].flatMap(({ raw }) => {
    const message = field(raw, "message");
    const model = isObject(message) ? text(message, "model") : undefined;
    return model === undefined || model === "<synthetic>" ? [] : [model];
  });
  return counted(models);
}

const everyLine = (log: SourceLog): SourceLine[] => [...log.lines, ...log.agents.flatMap(({ lines }) => lines)];

/** The first entry of each reply, sub-agents' included. */
function repliesOf(log: SourceLog): Map<string, SourceLine> {
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
  const typed = log.path.filter((entry) => typedText(entry) !== undefined).length;
  const replies = new Set(
    log.path.flatMap((entry) => (entry.kind === "assistant" && !entry.synthetic ? [entry.messageId ?? entry.id] : [])),
  );
  const calls = log.path.flatMap((entry) =>
    entry.kind === "assistant" ? entry.blocks.filter(({ type }) => type === "tool_use") : [],
  );
  return `${amount(typed)} by a person, ${amount(replies.size)} replies, ${amount(calls.length)} calls`;
}

const usageKeys = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"] as const;

/**
 * As the provider counted them; a log without usage says nothing here. Entries of one reply repeat its usage, and the
 * output grows while it streams: the largest figure is the reply's.
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
  return `${counted(edits.map(({ edit }) => edit.type))}${undone === 0 ? "" : `; ${amount(undone)} undone`}`;
}

function untoldText(log: SourceLog): string {
  const others = log.lines.flatMap(({ entry, raw }) => {
    const type = text(raw, "type") ?? "";
    const subtype = text(raw, "subtype");
    const content = text(raw, "content");
    if (entry.kind !== "other" || (type === "system" && content !== undefined && content.trim() !== "")) return [];
    return [subtype === undefined ? type : `${type}/${subtype}`];
  });
  return counted(others);
}

const damageOf = ({ damage, problems }: SourceLog): string[] => [
  ...damage.map(({ kind, start, end, detail }) => `${kind}, bytes ${start}–${end}: ${detail}`),
  ...problems,
];
