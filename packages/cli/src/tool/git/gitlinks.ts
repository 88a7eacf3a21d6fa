/**
 * Paths of an index at which another repository stands, which git looks into by itself. Undefined if the index is not one
 * of the versions 2 to 4, or keeps its entries elsewhere. Cost: linear in the index.
 */
export function readGitlinks(index: Buffer, hashBytes: number): readonly string[] | undefined {
  if (index.length < headerBytes || index.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return undefined;
  const count = index.readUInt32BE(8);
  const links: string[] = [];
  let at = headerBytes;
  let before: Buffer = Buffer.alloc(0);
  for (let entry = 0; entry < count; entry += 1) {
    const read = readEntry(index, { at, version, before, hashBytes });
    if (read === undefined) return undefined;
    if (read.mode === gitlinkMode) links.push(read.path.toString("utf8"));
    before = read.path;
    at = read.end;
  }
  return isSplit(index, { at, hashBytes }) ? undefined : links;
}

const headerBytes = 12;
const gitlinkMode = 0o160000;
/** Times, device, mode, owner and size stand before the hash. */
const fixedBytes = 40;
const modeAt = 24;

interface Place {
  readonly at: number;
  readonly version: number;
  /** The path of the entry before it: version 4 names only what differs. */
  readonly before: Buffer;
  readonly hashBytes: number;
}

interface Entry {
  readonly mode: number;
  readonly path: Buffer;
  readonly end: number;
}

function readEntry(index: Buffer, { at, version, before, hashBytes }: Place): Entry | undefined {
  const flagsAt = at + fixedBytes + hashBytes;
  if (flagsAt + 4 > index.length) return undefined;
  const mode = index.readUInt32BE(at + modeAt);
  const isExtended = version >= 3 && (index.readUInt16BE(flagsAt) & 0x4000) !== 0;
  const nameAt = flagsAt + (isExtended ? 4 : 2);
  if (version < 4) {
    const nul = index.indexOf(0, nameAt);
    if (nul === -1) return undefined;
    const bytes = nul - at;
    // Up to the next multiple of eight, at least one NUL.
    return { mode, path: index.subarray(nameAt, nul), end: at + bytes + (8 - (bytes % 8)) };
  }
  const removed = readVariable(index, nameAt);
  const nul = removed === undefined ? -1 : index.indexOf(0, removed.end);
  if (removed === undefined || nul === -1 || removed.value > before.length) return undefined;
  const kept = before.subarray(0, before.length - removed.value);
  return { mode, path: Buffer.concat([kept, index.subarray(removed.end, nul)]), end: nul + 1 };
}

/** Whether one of the extensions behind the entries says that more entries stand in another file. */
function isSplit(index: Buffer, { at, hashBytes }: Pick<Place, "at" | "hashBytes">): boolean {
  for (let start = at; start + 8 <= index.length - hashBytes; start += 8 + index.readUInt32BE(start + 4))
    if (index.toString("latin1", start, start + 4) === "link") return true;
  return false;
}

/** A number in as many bytes as it needs, as git packs offsets. */
function readVariable(index: Buffer, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let at = start; at < index.length && at < start + 5; at += 1) {
    const byte = index.readUInt8(at);
    value = value * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
    value += 1;
  }
  return undefined;
}
