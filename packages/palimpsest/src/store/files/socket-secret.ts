import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { constants, lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { isAbsent, isLink, openNoFollow, publish, temporaryPath, writeNewFile } from "./disk.ts";

type SecretOutcome =
  | { readonly kind: "secret"; readonly secret: string }
  /** `message` is one line for the user. */
  | { readonly kind: "missing" | "unsafe"; readonly message: string };

/**
 * The secret of a folder of sockets: a process that can read it runs for the same user. Refused if another user could read it or
 * replace it, because then a stranger may listen there.
 */
export async function readSocketSecret(folder: string): Promise<SecretOutcome> {
  const path = join(folder, secretName);
  try {
    const problem = findProblem(await lstat(folder), folder);
    if (problem !== undefined) return { kind: "unsafe", message: problem };
    const file = await openNoFollow(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      const unsafe = stats.isFile() ? findProblem(stats, path) : `${path} is not a file.`;
      if (unsafe !== undefined) return { kind: "unsafe", message: unsafe };
      if (stats.size !== secretChars) return { kind: "missing", message: `${path} holds no secret.` };
      return { kind: "secret", secret: await file.readFile("utf8") };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isLink(error)) return { kind: "unsafe", message: `${path} is a link.` };
    if (isAbsent(error)) return { kind: "missing", message: `There is no secret in ${folder}.` };
    throw error;
  }
}

/** The first of several processes makes it. */
export async function createSocketSecret(folder: string): Promise<void> {
  const path = join(folder, secretName);
  const temporary = temporaryPath(path);
  await writeNewFile({
    path: temporary,
    data: Buffer.from(randomBytes(secretChars / 2).toString("hex")),
    sync: "synced",
  });
  try {
    await publish(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

export const newNonce = (): string => randomBytes(32).toString("hex");

interface Proof {
  readonly secret: string;
  /** Part of what is proven: an answer of one side is worth nothing as the other's. */
  readonly side: "client" | "server";
  readonly clientNonce: string;
  readonly serverNonce: string;
  /** The hash of the message that follows; empty for the server. */
  readonly messageHash: string;
}

export const makeProof = ({ secret, side, clientNonce, serverNonce, messageHash }: Proof): string =>
  createHmac("sha256", secret)
    .update(JSON.stringify([side, clientNonce, serverNonce, messageHash]))
    .digest("hex");

export function isProof(text: string, proof: Proof): boolean {
  const expected = Buffer.from(makeProof(proof));
  const actual = Buffer.from(text);
  return actual.byteLength === expected.byteLength && timingSafeEqual(actual, expected);
}

export const hashMessage = (text: string): string => createHash("sha256").update(text).digest("hex");

function findProblem({ mode, uid }: { readonly mode: number; readonly uid: number }, path: string): string | undefined {
  if ((mode & 0o170000) === 0o120000) return `${path} is a link.`;
  if (process.getuid !== undefined && uid !== process.getuid()) return `${path} belongs to another user.`;
  return (mode & 0o077) === 0 ? undefined : `${path} can be read by other users: chmod go-rwx it.`;
}

const secretName = "secret";
const secretChars = 64;
