import { comparedBytes, comparedBytesMin } from "./limits.ts";

interface BytesFrom {
  readonly bytes: Buffer;
  readonly start: number;
}

/**
 * How many bytes are equal from the two starts on, at most `max`. Compares blocks (the processor's fastest way, some 40 GB
 * a second), then halves the block with the first difference.
 */
export function commonLength(one: BytesFrom, other: BytesFrom, max: number): number {
  const end = Math.min(max, one.bytes.length - one.start, other.bytes.length - other.start);
  let equal = 0;
  let size = comparedBytes;
  while (equal < end) {
    const block = Math.min(size, end - equal);
    if (block <= comparedBytesMin) {
      const blockEnd = equal + block;
      while (equal < blockEnd && one.bytes[one.start + equal] === other.bytes[other.start + equal]) equal += 1;
      if (equal < blockEnd) break;
      continue;
    }
    const [from, otherFrom] = [one.start + equal, other.start + equal];
    if (one.bytes.compare(other.bytes, otherFrom, otherFrom + block, from, from + block) === 0) equal += block;
    else size = Math.max(comparedBytesMin, block >> 1);
  }
  return equal;
}
