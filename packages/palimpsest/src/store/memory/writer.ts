import { type Bytes, type SessionId, bytes } from "../../schema/brand.ts";
import type { AppendOutcome, BlankOutcome, ByteRange, TranscriptWriter } from "../../ports/transcripts.ts";
import { lineBuffer } from "../line-buffer.ts";
import { type Fault, failureOf } from "./faults.ts";
import type { GrowingBytes } from "./growing-bytes.ts";

export interface MemoryWriterParts {
  readonly id: SessionId;
  readonly log: GrowingBytes;
  readonly nextFault: () => Fault | undefined;
  readonly written: () => void;
  /** Keeps bytes that are about to be written over; returns the name they are kept under. */
  readonly keep: (range: ByteRange, data: Uint8Array) => string;
  readonly release: () => Promise<void>;
  /** Absent where it was there before. */
  readonly remove?: (() => void) | undefined;
}

export function memoryWriter(parts: MemoryWriterParts): TranscriptWriter {
  const { id, log } = parts;
  let before: "line-end" | "torn-line" = "line-end";
  let state: "open" | "closed" = "open";

  const write = (line: string): Bytes | Fault => {
    const data = lineBuffer(line, before);
    const start = log.size + (before === "torn-line" ? 1 : 0);
    const fault = parts.nextFault();
    if (fault === undefined) {
      log.append(data);
      before = "line-end";
      return bytes(start);
    }
    const kept = Math.min(fault.keptBytes ?? 0, data.byteLength - 1);
    log.append(data.subarray(0, kept));
    if (kept > 0) before = before === "torn-line" && kept === 1 ? "line-end" : "torn-line";
    return fault;
  };

  const append = (lines: readonly string[]): AppendOutcome => {
    const at: Bytes[] = [];
    for (const line of lines) {
      const result = write(line);
      if (typeof result === "object") return failureOf(result);
      at.push(result);
    }
    parts.written();
    return { kind: "appended", at };
  };

  const blank = (ranges: readonly ByteRange[]): BlankOutcome => {
    const fault = parts.nextFault();
    if (fault !== undefined) return failureOf(fault);
    const setAside = ranges.map(({ start, end }) => ({
      start: bytes(start),
      end: bytes(end),
      kept: parts.keep({ start, end }, log.slice({ start, end })),
    }));
    for (const range of ranges) log.fill(0x20, range);
    return { kind: "blanked", setAside };
  };

  const whileOpen = <Result>(act: () => Result): Result => {
    if (state === "closed") throw new TypeError(`the writer of ${id} is closed`);
    return act();
  };

  const close = async (): Promise<void> => {
    const stateBefore = state;
    state = "closed";
    if (stateBefore === "open") await parts.release();
  };

  return {
    id,
    append: async (lines) => whileOpen(() => append(lines)),
    endTurn: async () => whileOpen(() => ({ kind: "appended", at: [] })),
    blank: async (ranges) => whileOpen(() => blank(ranges)),
    close,
    discard: async () => {
      if (state === "open") parts.remove?.();
      await close();
    },
  };
}
