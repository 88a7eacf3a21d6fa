import type { PreparedPassage } from "./prepare-text.ts";

export interface ChunkCodec {
  readonly compress: (bytes: Uint8Array) => Uint8Array;
  readonly expand: (bytes: Uint8Array) => Uint8Array;
}

/** Deflate of this platform, at a level that costs a tenth of what the words of the same text do. */
export function platformCodec(): ChunkCodec | undefined {
  const zlib = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:zlib");
  if (zlib === undefined) return undefined;
  return {
    compress: (bytes) => zlib.deflateRawSync(bytes, { level: 3 }),
    expand: (bytes) => zlib.inflateRawSync(bytes),
  };
}

export interface StoredPassageText {
  /** Where it begins in its text. */
  readonly from: number;
  readonly text: string;
}

/** One line with `from:length` of each passage, then the passages one after the other. */
export function encodeChunk(
  { compress }: ChunkCodec,
  passages: readonly Pick<PreparedPassage, "from" | "text">[],
): Uint8Array {
  const head = passages.map(({ from, text }) => `${from}:${text.length}`).join(",");
  return compress(new TextEncoder().encode(`${head}\n${passages.map(({ text }) => text.toWellFormed()).join("")}`));
}

export function decodeChunk({ expand }: ChunkCodec, body: Uint8Array): readonly StoredPassageText[] {
  const whole = decoder.decode(expand(body));
  const headEnd = whole.indexOf("\n");
  let at = headEnd + 1;
  return whole
    .slice(0, headEnd)
    .split(",")
    .map((part) => {
      const [from = 0, length = 0] = part.split(":").map(Number);
      const text = whole.slice(at, at + length);
      at += length;
      return { from, text };
    });
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
