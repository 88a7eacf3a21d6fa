import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openWorkspace } from "../host/workspace.ts";
import { sessionId } from "palimpsest/internal/schema/brand";
import { watchSettleMs } from "palimpsest/internal/settings/limits";
import { resolveForModel } from "palimpsest/internal/settings/resolved-settings";
import type { SettingsUpdate } from "../settings/watch-settings.ts";
import { followSettings, type FollowedNews, type FollowedSettings } from "./follow-settings.ts";
import { openSession, type Session } from "palimpsest/internal/session/session";

async function put(path: string, settings: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, typeof settings === "string" ? settings : JSON.stringify(settings));
}

/** Long enough for anything that is going to happen to have happened. */
const settled = (): Promise<void> => wait(watchSettleMs * 4);

interface SettingLine {
  readonly name: string;
  readonly value: unknown;
  readonly before: unknown;
  readonly source: string;
}

/** A session in a project of its own on disk, with its settings followed. */
async function followed() {
  const folder = await mkdtemp(join(tmpdir(), "follow-"));
  const [home, root] = [join(folder, "home"), join(folder, "root")];
  await mkdir(root);
  const file = join(root, ".palimpsest", "settings.json");
  await put(join(home, "settings.json"), { trustedProjects: [root] });
  await put(file, { model: "claude-sonnet-4-5", compactPercent: 90 });
  const workspace = openWorkspace({ env: { PALIMPSEST_HOME: home }, cwd: root });
  const project = await workspace.project();
  if (project.kind === "failed") throw new Error(project.message);
  const id = sessionId("followed");
  const opened = await openSession(project.deps, { id, circumstances: { cwd: root, version: "0" }, mode: "create" });
  if (opened.kind !== "open") throw new Error(opened.kind);
  const { session } = opened;
  const told: FollowedNews[] = [];
  const following = await followSettings(workspace, { session, onNews: (news) => told.push(news) });
  onTestFinished(() => session.close());
  const resolved = await workspace.resolveLog(id);
  if (resolved.kind !== "ours") throw new Error(resolved.kind);
  const entries = async (): Promise<SettingLine[]> =>
    (await readFile(resolved.path, "utf8"))
      .split("\n")
      .filter((line) => line.includes('"type":"setting"'))
      .map((line) => JSON.parse(line) as SettingLine);
  return { session, following, told, file, entries };
}

const compactOf = (following: FollowedSettings): number =>
  resolveForModel(following.current().settings).thresholds.compact;

const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 5_000, interval: 10 });

describe("a session whose settings change while it is open", () => {
  it("holds an entry for each change, in order, and the resolved settings are the new ones", async () => {
    const { session, following, told, file, entries } = await followed();
    const before = compactOf(following);
    await put(file, { model: "claude-sonnet-4-5", compactPercent: 50, flags: { snip: true } });
    await until(() => expect(told).toHaveLength(1));
    expect(compactOf(following)).toBeLessThan(before);
    expect(compactOf(following)).toBe(90_000);
    await put(file, { model: "claude-sonnet-4-5", compactPercent: 40, flags: { snip: true } });
    await until(() => expect(told).toHaveLength(2));
    expect(await entries()).toMatchObject([
      { name: "compactPercent", before: 90, value: 50, source: "project" },
      { name: "flags.snip", before: false, value: true, source: "project" },
      { name: "compactPercent", before: 50, value: 40, source: "project" },
    ]);
    expect(told[0]?.written).toMatchObject({ kind: "appended", entries: { length: 2 } });
    expect(session.fold.projection.settings.get("compactPercent")).toBe(40);
  });

  it("keeps its numbers where the file is broken, and tells the problem", async () => {
    const { following, told, file, entries } = await followed();
    const before = compactOf(following);
    await put(file, '{ "compactPercent": 5');
    await until(() => expect(told).toHaveLength(1));
    expect(told[0]).toMatchObject({ changes: [], written: { kind: "appended", entries: [] } });
    expect(told[0]?.reading.problems).toMatchObject([{ severity: "error", where: file }]);
    expect(compactOf(following)).toBe(before);
    expect(await entries()).toEqual([]);
  });

  it("hears nothing any more once either of the two is closed", async () => {
    for (const which of ["following", "session"] as const) {
      const world = await followed();
      await world[which].close();
      await put(world.file, { compactPercent: 10 });
      await settled();
      expect(world.told).toEqual([]);
      expect(await world.entries()).toEqual([]);
    }
  });
});

/** A watch that is told by hand, and a session that takes its time. */
async function byHand(append: Session["append"], onNews: (news: FollowedNews) => void) {
  const tells: ((news: SettingsUpdate) => void)[] = [];
  const along = new Set<unknown>();
  let closes = 0;
  const watch = { current: () => ({}) as never, close: () => (closes += 1) };
  const following = await followSettings(
    { watchSettings: async (_, tell) => (tells.push(tell), watch) },
    { session: { append, onClose: (act) => (along.add(act), () => void along.delete(act)) }, onNews },
  );
  const tell = (after: number): void => {
    const change = { name: "compactPercent", before: 0, after, source: "user", from: "file" } as const;
    for (const one of tells) one({ changes: [change], reading: {} as never });
  };
  return { following, tell, along, closes: () => closes };
}

describe("following by hand", () => {
  it("closes only once everything that was heard of is written", async () => {
    const written: unknown[] = [];
    const { following, tell, closes } = await byHand(
      async (draft) => {
        await wait(draft?.["value"] === 1 ? 60 : 5);
        written.push(draft?.["value"]);
        return { kind: "appended", entries: [] };
      },
      () => {},
    );
    tell(1);
    tell(2);
    await following.close();
    expect(closes()).toBe(1);
    expect(new Set(written)).toEqual(new Set([1, 2]));
  });

  it("leaves nothing of itself in the session once it is closed", async () => {
    const { following, along } = await byHand(
      async () => ({ kind: "appended", entries: [] }),
      () => {},
    );
    expect(along.size).toBe(1);
    await following.close();
    expect(along.size).toBe(0);
  });

  it("never throws into the watcher: a session or a listener that fails is survived, and the next change is told", async () => {
    const told: string[] = [];
    const { following, tell } = await byHand(
      () => Promise.reject(new TypeError("closed")),
      ({ written }) => {
        told.push(written.kind === "failed" ? written.message : written.kind);
        throw new Error("a listener's bug");
      },
    );
    expect(() => tell(1)).not.toThrow();
    expect(() => tell(2)).not.toThrow();
    await following.close();
    expect(told).toHaveLength(2);
    expect(told[0]).toContain("TypeError: closed");
  });
});
