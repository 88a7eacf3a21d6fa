import type { Memory, MemoryText } from "../../ports/memories.ts";
import { bytes, type Millis } from "../../schema/brand.ts";
import { memoryRole } from "./memory-path.ts";
import { parseMemory } from "./memory-text.ts";
import type { CurrentFile } from "./plan-commit.ts";
import type { RecordedFile } from "./recorded-files.ts";

interface DescribedFile {
  readonly path: string;
  readonly file: CurrentFile;
  readonly modifiedMs: Millis;
  readonly recorded: RecordedFile;
}

export function describeMemory({ path, file, modifiedMs, recorded }: DescribedFile): MemoryText {
  const { name, description, type } = parseMemory(file.text, path);
  const { revision, author, provenance, trust } = recorded;
  return {
    path,
    role: memoryRole(path),
    hash: file.hash,
    sizeBytes: bytes(Buffer.byteLength(file.text)),
    modifiedMs,
    name,
    description,
    type,
    revision,
    author,
    provenance,
    trust,
    text: file.text,
  };
}

export function withoutText(memory: MemoryText): Memory {
  const { text: _, ...described } = memory;
  return described;
}
