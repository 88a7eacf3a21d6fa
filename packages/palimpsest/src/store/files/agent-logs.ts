import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ByteSource } from "../../ports/transcripts.ts";
import { byteSourceOfFile } from "./byte-source.ts";
import { codeOf } from "./failure.ts";

export interface AgentLog {
  /** The agent's id. */
  readonly name: string;
  readonly source: ByteSource;
}

const shape = /^agent-(.+)\.jsonl$/;

/** `<session>/subagents/agent-<id>.jsonl` beside `<session>.jsonl`, open for reading. One that can't be read is left out. */
export async function agentLogs(transcript: string): Promise<readonly AgentLog[]> {
  const folder = join(dirname(transcript), basename(transcript, ".jsonl"), "subagents");
  const names: readonly string[] = await readdir(folder).catch((error: unknown): string[] => {
    if (codeOf(error) === undefined) throw error;
    return [];
  });
  const logs: AgentLog[] = [];
  for (const file of names.toSorted()) {
    const name = shape.exec(file)?.[1];
    const opened = name === undefined ? undefined : await byteSourceOfFile(join(folder, file));
    if (name !== undefined && opened?.kind === "open") logs.push({ name, source: opened.source });
  }
  return logs;
}
