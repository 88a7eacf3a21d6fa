import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openWorkspace } from "../host/workspace.ts";
import { tokens } from "palimpsest/internal/schema/brand";
import { readLearnedLimits, windowLessonsPath } from "./learn-window.ts";

async function newEngine() {
  const folder = await mkdtemp(join(tmpdir(), "learned-"));
  const home = join(folder, "home");
  const workspace = openWorkspace({ env: { PALIMPSEST_HOME: home }, cwd: folder });
  const learn = (count: number, model = "m", of: "window" | "input" = "window") =>
    workspace.learnWindow({ model, tokens: tokens(count), of, from: "an error" });
  return { home, workspace, learn, path: windowLessonsPath(home) };
}

const learnedWindow = async (home: string, model: string) => (await readLearnedLimits(home, model)).window;

it("the window and the most that may be sent are learned apart", async () => {
  const { home, learn } = await newEngine();
  await learn(400_000);
  expect(await learn(272_000, "m", "input")).toEqual({ kind: "learned" });
  expect(await learn(272_000, "m", "input")).toEqual({ kind: "known", tokens: 272_000 });
  expect(await learn(390_000)).toEqual({ kind: "learned" });
  expect(await readLearnedLimits(home, "m")).toMatchObject({ window: { tokens: 390_000 }, input: { tokens: 272_000 } });
});

it("a window is learned once, and only a smaller one after it", async () => {
  const { home, learn, path } = await newEngine();
  expect(await learn(200_000)).toEqual({ kind: "learned" });
  const bytes = await readFile(path);
  expect(await learn(200_000)).toEqual({ kind: "known", tokens: 200_000 });
  expect(await learn(300_000)).toEqual({ kind: "known", tokens: 200_000 });
  expect(await readFile(path)).toEqual(bytes);
  expect(await learn(100_000)).toEqual({ kind: "learned" });
  expect(await learnedWindow(home, "m")).toMatchObject({ tokens: 100_000, from: "an error" });
});

it("each model has its own, names that objects have too included", async () => {
  const { home, learn } = await newEngine();
  expect(await learnedWindow(home, "constructor")).toBeUndefined();
  await learn(5_000, "m");
  await learn(6_000, "m[1m]");
  await learn(7_000, "constructor");
  const learned = await Promise.all(["m", "m[1m]", "constructor", "other"].map((model) => learnedWindow(home, model)));
  expect(learned.map((one) => one?.tokens)).toEqual([5_000, 6_000, 7_000, undefined]);
});

it.skipIf(process.platform === "win32")("is for the owner's eyes only, and leaves nothing beside it", async () => {
  const { home, learn, path } = await newEngine();
  await learn(5_000);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(home)).mode & 0o777).toBe(0o700);
});

it("a broken file was never learned, and the next lesson replaces it", async () => {
  const { home, learn, path } = await newEngine();
  await learn(5_000);
  await writeFile(path, '{"windows": {"m": {"tokens": "five"}}}');
  expect(await learnedWindow(home, "m")).toBeUndefined();
  expect(await learn(9_000)).toEqual({ kind: "learned" });
  expect((await learnedWindow(home, "m"))?.tokens).toBe(9_000);
});

it("caps the resolved settings, and says where it is remembered", async () => {
  const { workspace, learn, path } = await newEngine();
  await learn(150_000, "claude-opus-5");
  const { resolved } = await workspace.settings({ model: "claude-opus-5" });
  expect(resolved.window).toEqual({ tokens: 150_000, source: "learned", from: path });
  expect((await workspace.settings({ model: "claude-sonnet-5" })).resolved.window.source).toBe("registry");
});
