import { cp, readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { teammateAddress } from "../../packages/palimpsest/src/schema/agent-address.ts";
import { envelopeId, millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { runNode, type Said } from "./support/command-line.ts";
import { everyPoint, type KillPoint } from "./support/killed-turn.ts";
import { messageText, openMailbox, perSender, receiveAll, sendAll, senders } from "./support/mail-run.ts";
import { fileDeps, newProject, pathOf, sessionWith } from "./support/project.ts";
import { user } from "../fixture/session.ts";

const script = resolve(import.meta.dirname, "child/mail-step.ts");
const preload = `--import=${pathToFileURL(resolve(import.meta.dirname, "child/kill-at.ts")).href}`;

type Side = "send" | "receive";

const run = (folder: string, side: Side, env: Readonly<Record<string, string>>): Promise<Said> => {
  const place = { home: dirname(dirname(folder)), cwd: folder, env: { NODE_OPTIONS: preload, ...env } };
  return runNode(place, script, folder, side);
};

/** A session with so many messages that it has read already that the next ones it reads are the last before a clean-up. */
async function makeScene(): Promise<string> {
  const { folder, deps } = await newProject();
  await sessionWith(deps, "s1", async (session) => void (await session.append(user("Begin."))));
  const mailbox = await openMailbox(folder);
  const old = teammateAddress("old", "team");
  const { mailboxes } = fileDeps(folder);
  for (let n = 0; n < 252; n += 1) {
    const id = envelopeId(`old-${n}`);
    await mailboxes.send({ id, from: old, to: mailbox.address, at: millis(0), body: { type: "text", text: "old" } });
    if (n % 42 === 41) await mailbox.markRead(Array.from({ length: 42 }, (_, back) => envelopeId(`old-${n - back}`)));
  }
  return folder;
}

async function copyScene(scene: string): Promise<string> {
  const { folder } = await newProject();
  await cp(scene, folder, { recursive: true });
  return folder;
}

/** Each message is in the transcript once, each sender's in order; nothing is unread, and nothing is left over. */
async function expectExactlyOnce(folder: string, point: KillPoint): Promise<void> {
  const log = await readFile(pathOf({ folder }, "s1"), "utf8");
  for (const sender of senders) {
    const texts = Array.from({ length: perSender }, (_, n) => `> ${messageText(sender, n)}`);
    const seen = [...log.matchAll(new RegExp(`> text \\d+ of ${sender}\\.`, "g"))].map(([text]) => text);
    expect({ point, seen }).toEqual({ point, seen: texts });
  }
  const mailbox = await openMailbox(folder);
  expect({ point, unread: await mailbox.unread() }).toEqual({
    point,
    unread: { kind: "unread", envelopes: [], damagedLines: 0 },
  });
  // The lock of a process that was killed is in nobody's way.
  const id = envelopeId("last");
  const from = teammateAddress("last", "team");
  const body = { type: "text", text: "after all" } as const;
  const { mailboxes } = fileDeps(folder);
  expect((await mailboxes.send({ id, from, to: mailbox.address, at: millis(0), body })).kind).toBe("sent");
  await mailbox.markRead([id]);
  const names = await readdir(join(folder, ".mail", "sessions", "s1"));
  expect({ point, names: names.filter((name) => !name.endsWith(".tmp")).toSorted() }).toEqual({
    point,
    names: ["messages.jsonl", "read.jsonl"],
  });
}

/** All points in the long run, else some from the beginning to the end. */
const choose = (points: readonly KillPoint[], count: number): readonly KillPoint[] =>
  process.env["PALIMPSEST_LONG"] === undefined
    ? points.filter((_, nth) => nth % Math.ceil(points.length / count) === 0)
    : points;

async function findPoints(scene: string, side: Side): Promise<readonly KillPoint[]> {
  const folder = await copyScene(scene);
  const report = join(folder, "changes.json");
  expect(await run(folder, side, { KILL_REPORT: report })).toMatchObject({ code: 0 });
  // Reading them also removes the old ones.
  const messages = await readFile(join(folder, ".mail", "sessions", "s1", "messages.jsonl"), "utf8");
  expect(messages.includes('"senders"')).toBe(side === "receive");
  const points = everyPoint(JSON.parse(await readFile(report, "utf8")) as string[]);
  expect(points.length).toBeGreaterThan(30);
  return points;
}

/** Two at a time: more only wait for a processor. */
async function killAtEach(points: readonly KillPoint[], attempt: (point: KillPoint) => Promise<Said>): Promise<void> {
  let kills = 0;
  for (let at = 0; at < points.length; at += 2)
    for (const said of await Promise.all(points.slice(at, at + 2).map(attempt)))
      kills += Number(said.signal === "SIGKILL");
  expect(kills).toBe(points.length);
}

describe("19. Mailbox: killed at any step before or after the acknowledgement, each message is handled once and in order per sender", () => {
  it("if the sender is killed and sends again what it has no answer for", async () => {
    const scene = await makeScene();
    await killAtEach(choose(await findPoints(scene, "send"), 6), async (point) => {
      const folder = await copyScene(scene);
      const said = await run(folder, "send", { KILL_AT: `${point.at} ${point.how}` });
      await sendAll(folder);
      await receiveAll(folder);
      await expectExactlyOnce(folder, point);
      return said;
    });
  });

  it("if the receiver is killed: at its transcript, its compaction, its marks, or while read messages are removed", async () => {
    const scene = await makeScene();
    await sendAll(scene);
    await killAtEach(choose(await findPoints(scene, "receive"), 8), async (point) => {
      const folder = await copyScene(scene);
      const said = await run(folder, "receive", { KILL_AT: `${point.at} ${point.how}` });
      await receiveAll(folder);
      await expectExactlyOnce(folder, point);
      return said;
    });
  });
});
