import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "palimpsest/internal/store/files/disk";
import { cassetteBytesMax, cassettesBytesMax, cassettesMax } from "../limits.ts";
import { type Cassette, formatCassette, parseCassette } from "./cassette.ts";

const fileShape = /^(\d{4,})\.jsonl$/;
const cassetteFileName = (number: number): string => `${String(number).padStart(4, "0")}.jsonl`;

/**
 * Creates the folder if it does not exist, accessible only to its owner, and returns the next free number. Rejects if
 * the operating system refuses.
 */
export async function prepareCassetteFolder(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const numbers = (await readdir(folder)).map((name) => Number(fileShape.exec(name)?.[1] ?? 0));
  return numbers.reduce((most, number) => Math.max(most, number), 0) + 1;
}

/**
 * Writes a file completely or not at all, and never over another; returns the number that was free. Rejects if the
 * operating system refuses.
 */
export async function writeCassette({
  folder,
  number,
  cassette,
}: {
  readonly folder: string;
  readonly number: number;
  readonly cassette: Cassette;
}): Promise<number> {
  const written = join(folder, `.${randomUUID()}.part`);
  try {
    await writeFile(written, formatCassette(cassette), { mode: 0o600, flag: "wx" });
    let free = number;
    while (!(await placeFile(written, join(folder, cassetteFileName(free))))) free += 1;
    return free;
  } finally {
    await rm(written, { force: true });
  }
}

async function placeFile(written: string, path: string): Promise<boolean> {
  try {
    await link(written, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    if (!noLinkCodes.has(errorCode(error) ?? "")) throw error;
  }
  try {
    await copyFile(written, path, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Error codes of file systems without hard links. */
const noLinkCodes: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

export interface StoredCassette {
  readonly file: string;
  readonly cassette: Cassette;
}

/** A cassette that is not used; `line` counts from 1, and is absent if the file cannot be read at all. */
export interface CassetteProblem {
  readonly file: string;
  readonly line?: number;
  readonly message: string;
}

export const formatCassetteProblem = ({ file, line, message }: CassetteProblem): string =>
  `${file}${line === undefined ? "" : `:${line}`}: ${message}`;

type ReadCassetteFolderOutcome =
  | {
      readonly kind: "folder";
      /** In the order of their numbers, which is the order of recording. */
      readonly cassettes: readonly StoredCassette[];
      readonly problems: readonly CassetteProblem[];
    }
  | { readonly kind: "absent" };

/**
 * Rejects if the operating system refuses the folder; a file that cannot be read is reported as a problem. Reading
 * stops at the first file with which the total would exceed `bytesMax`: a request must not get the answer to a later
 * one.
 */
export async function readCassetteFolder(
  folder: string,
  bytesMax = cassettesBytesMax,
): Promise<ReadCassetteFolderOutcome> {
  const names = await readdir(folder).catch(ignoreAbsent);
  if (names === undefined) return { kind: "absent" };
  const files = names
    .filter((name) => fileShape.test(name))
    .toSorted((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10));
  const cassettes: StoredCassette[] = [];
  const problems: CassetteProblem[] = files
    .slice(cassettesMax)
    .map((file) => ({ file, message: `more than ${cassettesMax} cassettes are not read` }));
  let bytesLeft = bytesMax;
  for (const file of files.slice(0, cassettesMax)) {
    const read = await readCassetteFile({ folder, file, bytesLeft });
    switch (read.kind) {
      case "read":
        cassettes.push(read.stored);
        bytesLeft -= read.bytes;
        break;
      case "not-used":
        problems.push(read.problem);
        break;
      case "no-room":
        problems.push({ file, message: `cassettes of more than ${bytesMax} bytes together are not read` });
        bytesLeft = 0;
        break;
    }
  }
  return { kind: "folder", cassettes, problems };
}

function ignoreAbsent(error: unknown): undefined {
  if (errorCode(error) !== "ENOENT") throw error;
}

type ReadCassetteFileOutcome =
  | { readonly kind: "read"; readonly stored: StoredCassette; readonly bytes: number }
  | { readonly kind: "not-used"; readonly problem: CassetteProblem }
  | { readonly kind: "no-room" };

async function readCassetteFile({
  folder,
  file,
  bytesLeft,
}: {
  readonly folder: string;
  readonly file: string;
  readonly bytesLeft: number;
}): Promise<ReadCassetteFileOutcome> {
  const path = join(folder, file);
  const notUsed = (problem: Omit<CassetteProblem, "file">): ReadCassetteFileOutcome => ({
    kind: "not-used",
    problem: { file, ...problem },
  });
  try {
    const { size: bytes } = await stat(path);
    if (bytes > cassetteBytesMax) return notUsed({ message: `larger than ${cassetteBytesMax} bytes` });
    if (bytes > bytesLeft) return { kind: "no-room" };
    const read = parseCassette(await readFile(path, "utf8"));
    if (read.kind === "cassette") return { kind: "read", stored: { file, cassette: read.cassette }, bytes };
    return notUsed({ line: read.line, message: read.message });
  } catch (error) {
    if (!(error instanceof Error) || errorCode(error) === undefined) throw error;
    return notUsed({ message: error.message });
  }
}
