import { readFile } from "node:fs/promises";

/** An agent as `palimpsest agents list --json` shows it. */
export interface SeenAgent {
  readonly address: string;
  readonly state: string;
  readonly pid?: number;
  readonly transcript?: string;
}

/** One reply in the simulator's trace: what a provider would have charged for it. */
export interface ChargedReply {
  readonly messageId: string;
  readonly tokens: number;
  readonly usd: number;
}

export interface AgentBill {
  readonly name: string;
  readonly requests: number;
  readonly tokens: number;
  readonly usd: number;
  /** Ids of the messages that have arrived, and who sent them. */
  readonly arrived: readonly { readonly id: string; readonly from: string }[];
}

/** The charged replies by the transcript that they are in. */
export async function readBill(
  { address, transcript }: SeenAgent,
  charged: readonly ChargedReply[],
): Promise<AgentBill> {
  const text = transcript === undefined ? "" : await readFile(transcript, "utf8");
  const entries = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Entry);
  const ids = new Set(entries.flatMap(({ message }) => message?.id ?? []));
  const own = charged.filter(({ messageId }) => ids.has(messageId));
  return {
    name: nameOf(address),
    requests: own.length,
    tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
    usd: own.reduce((sum, { usd }) => sum + usd, 0),
    arrived: entries.flatMap(({ agentMessage }) =>
      agentMessage === undefined ? [] : [{ id: agentMessage.id, from: nameOf(agentMessage.from) }],
    ),
  };
}

/** What this needs of a transcript's lines (docs/transcript.md). */
interface Entry {
  readonly message?: { readonly id?: string };
  readonly agentMessage?: { readonly id: string; readonly from: string };
}

const nameOf = (address: string): string => address.split("@")[0] ?? address;

/** A line of the trace, if it is a reply that was charged for. */
export function readCharge(line: string): ChargedReply | undefined {
  const { type, messageId, usage, costUsd } = JSON.parse(line) as TraceReply;
  if (type !== "reply" || messageId === undefined || costUsd === undefined) return undefined;
  const tokens = Object.entries(usage ?? {})
    .filter(([key]) => /^(?:input|cache_creation_input|cache_read_input|output)_tokens$/.test(key))
    .reduce((sum, [, value]) => sum + Number(value), 0);
  return { messageId, tokens, usd: costUsd };
}

interface TraceReply {
  readonly type: string;
  readonly messageId?: string;
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly costUsd?: number;
}

/** Names to the left, figures to the right. */
export function formatColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart((widths[at] ?? 0) + 3))).join(""),
    )
    .map((line) => `  ${line.trimEnd()}`)
    .join("\n");
}
