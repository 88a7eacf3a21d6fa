import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { teammateAddress } from "../../../packages/palimpsest/src/schema/agent-address.ts";
import type { MailboxAddress } from "../../../packages/palimpsest/src/schema/brand.ts";
import { fileMailboxes } from "../../../packages/palimpsest/src/store/files/file-mailboxes.ts";
import { storeDeps } from "../../contract/store-deps.ts";

export const peerName = (peer: number): string => `p${peer}`;
export const peerAddress = (peer: number): MailboxAddress => teammateAddress(peerName(peer), "team");
export const messageId = (peer: number, n: number): string => `p${peer}-${n}`;

/** Any of the others; a peer sends its n-th message to the same one each time. */
export const receiverIndex = ({ own, n, peers }: { own: number; n: number; peers: number }): number =>
  (own + 1 + (((n * 2_654_435_761) >>> 7) % (peers - 1))) % peers;

interface PeerRecords {
  /** So many of its messages were acknowledged. */
  readonly sent: number;
  /** In the order in which they were handled. */
  readonly handled: readonly string[];
}

/** Lines that are not whole were never written. */
export async function readPeer(folder: string, peer: number): Promise<PeerRecords> {
  const handled: string[] = [];
  let sent = 0;
  const log = await readFile(join(folder, `${peerName(peer)}.jsonl`), "utf8");
  for (const line of log.split("\n").slice(0, -1)) {
    const record = parseLine(line);
    if (record?.handled !== undefined) handled.push(record.handled);
    sent = Math.max(sent, record?.sent ?? 0);
  }
  return { sent, handled };
}

function parseLine(line: string): { handled?: string; sent?: number } | undefined {
  try {
    return JSON.parse(line) as { handled?: string; sent?: number };
  } catch {
    // A torn line that the next writer ended.
    return undefined;
  }
}

interface Peer {
  child: ChildProcess;
  handled: number;
}

interface ExchangeOptions {
  readonly folder: string;
  readonly peers: number;
  /** Messages that each sends. */
  readonly count: number;
  /** Handled between two kills, on average: a slow machine is not killed more often. */
  readonly killEvery: number;
}

interface ExchangeReport {
  readonly kills: number;
  readonly records: readonly PeerRecords[];
}

/** Real processes send to each other; one of them is killed every now and then, and started again. */
export async function exchangeUnderKills(options: ExchangeOptions): Promise<ExchangeReport> {
  const { folder, peers, count, killEvery } = options;
  const mailboxes = fileMailboxes({ deps: storeDeps, folder: join(folder, "mail"), durability: "never" });
  for (let peer = 0; peer < peers; peer += 1) {
    await writeFile(join(folder, `${peerName(peer)}.jsonl`), "");
    await mailboxes.open(peerAddress(peer));
  }
  const running = Array.from({ length: peers }, (_, peer) => startPeer(options, peer));
  let kills = 0;
  const total = (): number => running.reduce((sum, { handled }) => sum + handled, 0);
  try {
    for (let next = killEvery; total() < peers * count;) {
      await wait(Math.random() * pauseMsMax);
      const ended = running.findIndex(({ child }) => child.exitCode !== null);
      if (ended !== -1) throw new Error(`peer ${ended} ended by itself`);
      if (total() < next) continue;
      next = total() + killEvery * 2 * Math.random();
      const victim = Math.floor(Math.random() * peers);
      await end(running[victim]?.child);
      kills += 1;
      running[victim] = startPeer(options, victim, running[victim]?.handled);
    }
  } finally {
    await Promise.all(running.map(({ child }) => end(child)));
  }
  const records = await Promise.all(running.map((_, peer) => readPeer(folder, peer)));
  return { kills, records };
}

/** Longer than any step of a peer, so that a kill hits any of them. */
const pauseMsMax = 20;

const script = resolve(import.meta.dirname, "../child/mail-peer.ts");

function startPeer({ folder, peers, count }: ExchangeOptions, own: number, handled = 0): Peer {
  const child = spawn(process.execPath, [script, folder, String(own), String(peers), String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const peer = { child, handled };
  child.stdout.on("data", (data: Buffer) => {
    const last = data.toString().trimEnd().split("\n").at(-1) ?? "";
    // A cut number is smaller than the whole one.
    peer.handled = Math.max(peer.handled, Number(last));
  });
  return peer;
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}

/** What is wrong: messages lost, handled twice, or out of order. */
export function findFaults(
  { records }: ExchangeReport,
  { peers, count }: { peers: number; count: number },
): readonly string[] {
  const faults: string[] = [];
  const handledBy = new Map<string, number>();
  for (const [receiver, { handled }] of records.entries()) {
    const lastBySender = new Map<string, number>();
    for (const id of handled) {
      const [sender = "", n = ""] = id.split("-");
      if (handledBy.has(id)) faults.push(`${id} handled twice`);
      handledBy.set(id, receiver);
      if ((lastBySender.get(sender) ?? -1) >= Number(n)) faults.push(`${id} out of order at ${peerName(receiver)}`);
      lastBySender.set(sender, Number(n));
    }
  }
  for (let own = 0; own < peers; own += 1)
    for (let n = 0; n < count; n += 1)
      if (handledBy.get(messageId(own, n)) !== receiverIndex({ own, n, peers }))
        faults.push(`${messageId(own, n)} lost`);
  return faults.slice(0, 20);
}
