import { readFile } from "node:fs/promises";

/** An agent as `palimpsest agents list --json` shows it. */
export interface SeenAgent {
  readonly address: string;
  readonly state: string;
  readonly pid: number | undefined;
  readonly transcript: string | undefined;
}

export function readAgents(json: string): readonly SeenAgent[] {
  const listed: unknown = JSON.parse(json);
  return (Array.isArray(listed) ? listed : []).map((agent: unknown) => ({
    address: textIn(agent, "address") ?? "",
    state: textIn(agent, "state") ?? "",
    pid: numberIn(agent, "pid"),
    transcript: textIn(agent, "transcript"),
  }));
}

const fieldIn = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;

function textIn(value: unknown, key: string): string | undefined {
  const field = fieldIn(value, key);
  return typeof field === "string" ? field : undefined;
}

function numberIn(value: unknown, key: string): number | undefined {
  const field = fieldIn(value, key);
  return typeof field === "number" ? field : undefined;
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
    .map((line): unknown => JSON.parse(line));
  const ids = new Set(entries.map((entry) => textIn(fieldIn(entry, "message"), "id")));
  const own = charged.filter(({ messageId }) => ids.has(messageId));
  return {
    name: nameOf(address),
    requests: own.length,
    tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
    usd: own.reduce((sum, { usd }) => sum + usd, 0),
    arrived: entries.flatMap((entry) => {
      const message = fieldIn(entry, "agentMessage");
      const id = textIn(message, "id");
      return id === undefined ? [] : [{ id, from: nameOf(textIn(message, "from") ?? "") }];
    }),
  };
}

const nameOf = (address: string): string => address.split("@")[0] ?? address;

/** A line of the trace, if it is a reply that was charged for. */
export function readCharge(line: string): ChargedReply | undefined {
  const reply: unknown = JSON.parse(line);
  const [messageId, usd] = [textIn(reply, "messageId"), numberIn(reply, "costUsd")];
  if (messageId === undefined || usd === undefined) return undefined;
  const usage = fieldIn(reply, "usage");
  const tokens = tokenFields.reduce((sum, key) => sum + (numberIn(usage, key) ?? 0), 0);
  return { messageId, tokens, usd };
}

const tokenFields = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];

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
