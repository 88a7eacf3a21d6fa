import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { settingDrafts, type SettingsUpdate, type SettingsWatch, watchSettings } from "./watch-settings.ts";
import { watchSettleMs } from "palimpsest/internal/settings/limits";

const open: SettingsWatch[] = [];
afterEach(() => {
  for (const watch of open.splice(0)) watch.close();
});

async function newPlace() {
  const folder = await mkdtemp(join(tmpdir(), "watch-"));
  const home = join(folder, "home");
  const root = join(folder, "root");
  await mkdir(root);
  return {
    folder,
    home,
    root,
    user: join(home, "settings.json"),
    project: join(root, ".palimpsest", "settings.json"),
    local: join(root, ".palimpsest", "settings.local.json"),
  };
}
type Place = Awaited<ReturnType<typeof newPlace>>;

async function put(path: string, settings: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, typeof settings === "string" ? settings : JSON.stringify(settings));
}

/** So that what the project's files say counts. */
const trust = ({ user, root }: Place): Promise<void> => put(user, { trustedProjects: [root] });

async function watching({ home, root }: Place, env: Record<string, string> = {}) {
  const news: SettingsUpdate[] = [];
  const watch = await watchSettings({ home, root, env }, (one) => news.push(one));
  open.push(watch);
  const changes = () => news.flatMap((one) => one.changes.map(({ name, before, after }) => [name, before, after]));
  const model = (value: string | undefined): Promise<void> =>
    vi.waitFor(() => expect(watch.current().settings.model.value).toBe(value), { timeout: 5_000, interval: 10 });
  return { watch, news, changes, model };
}

/** Long enough for anything that is going to happen to have happened. */
const settled = (): Promise<void> => wait(watchSettleMs * 4);

describe("a settings file that changes while a session runs", () => {
  it("is read again after an edit in place, and each change is reported once with its source", async () => {
    const place = await newPlace();
    await put(place.user, { model: "a", flags: { snip: true } });
    const { news, changes, model } = await watching(place);
    await put(place.user, { model: "b", flags: { snip: true, offload: false } });
    await model("b");
    await settled();
    expect(changes()).toEqual([
      ["model", "a", "b"],
      ["flags.offload", true, false],
    ]);
    expect(news[0]?.changes[0]).toMatchObject({ source: "user", from: place.user });
  });

  it("is read again after editors replaced it, again and again", async () => {
    const place = await newPlace();
    await trust(place);
    await put(place.project, { model: "a" });
    const { model } = await watching(place);
    for (const name of ["b", "c", "d"]) {
      await put(`${place.project}.tmp`, { model: name });
      await rename(`${place.project}.tmp`, place.project);
      await model(name);
    }
  });

  it("is read again after an editor moved it away and wrote a new one", async () => {
    const place = await newPlace();
    await trust(place);
    await put(place.local, { model: "a" });
    const { model, changes } = await watching(place);
    await rename(place.local, `${place.local}~`);
    await put(place.local, { model: "b" });
    await model("b");
    await settled();
    expect(changes()[0]?.[1]).toBe("a");
    expect(changes().at(-1)?.[2]).toBe("b");
  });

  it("gives way to its defaults when it is deleted", async () => {
    const place = await newPlace();
    await put(place.user, { model: "a", trustedProjects: [place.root] });
    await put(place.local, { model: "b" });
    const { model, news } = await watching(place);
    await rm(place.local);
    await model("a");
    await rm(place.user);
    await model(undefined);
    expect(news.at(-1)?.changes).toEqual([
      { name: "model", before: "a", after: undefined, source: "default", from: "built in" },
      { name: "trustedProjects", before: [place.root], after: [], source: "default", from: "built in" },
    ]);
  });

  it("is found when it appears later, with all the folders above it", async () => {
    const place = await newPlace();
    const { model } = await watching(place);
    await put(place.user, { model: "user", trustedProjects: [place.root] });
    await model("user");
    await put(place.project, { model: "project" });
    await model("project");
    await put(place.local, { model: "local" });
    await model("local");
  });

  it("is found again when its folder was deleted and made anew, or moved away and back", async () => {
    const place = await newPlace();
    await trust(place);
    await put(place.project, { model: "a" });
    const { model } = await watching(place);
    await rm(dirname(place.project), { recursive: true });
    await model(undefined);
    await put(place.project, { model: "b" });
    await model("b");
    await rename(dirname(place.project), join(place.folder, "away"));
    await model(undefined);
    await rename(join(place.folder, "away"), dirname(place.project));
    await model("b");
    await put(place.project, { model: "c" });
    await model("c");
  });

  it.skipIf(process.platform === "win32")("is read again where it really lies, when it is a link", async () => {
    const place = await newPlace();
    const real = join(place.folder, "dotfiles", "palimpsest.json");
    await put(real, { model: "a" });
    await mkdir(place.home);
    await symlink(real, place.user);
    const { model } = await watching(place);
    await put(real, { model: "b" });
    await model("b");
  });

  it("keeps what it said while it is broken, and says that it is", async () => {
    const place = await newPlace();
    await put(place.user, { model: "a", contextTokens: 50_000 });
    const { watch, news, model, changes } = await watching(place);
    await put(place.user, '{"model": "b", ');
    await vi.waitFor(() => expect(news).toHaveLength(1), { timeout: 5_000 });
    expect(changes()).toEqual([]);
    expect(watch.current().problems).toMatchObject([{ severity: "error", where: place.user }]);
    expect(watch.current().settings.contextTokens.value).toBe(50_000);
    await put(place.user, { model: "b" });
    await model("b");
    expect(watch.current().problems).toEqual([]);
  });

  it("does not win over the environment, and says nothing when no value changed", async () => {
    const place = await newPlace();
    await put(place.user, { model: "a" });
    const { news } = await watching(place, { PALIMPSEST_MODEL: "env" });
    await put(place.user, { model: "b" });
    await settled();
    expect(news).toEqual([]);
  });
});

describe("watching", () => {
  it("reads little however much happens beside the settings", async () => {
    const place = await newPlace();
    const { news, watch } = await watching(place);
    const spy = vi.spyOn(globalThis, "setTimeout");
    for (let at = 0; at < 200; at += 1) await writeFile(join(place.root, `file-${at}`), "x");
    await settled();
    const looks = spy.mock.calls.filter(([, ms]) => ms === watchSettleMs).length;
    spy.mockRestore();
    expect(looks).toBe(0);
    expect(news).toEqual([]);
    expect(watch.current().problems).toEqual([]);
  });

  it("reports a burst of writes no more often than it settles", async () => {
    const place = await newPlace();
    await put(place.user, { model: "0" });
    const { news, model } = await watching(place);
    const began = performance.now();
    for (let at = 1; at <= 50; at += 1) await put(place.user, { model: String(at) });
    await model("50");
    await settled();
    expect(news.length).toBeLessThanOrEqual(1 + (performance.now() - began) / watchSettleMs);
  });

  it("ends with close: nothing is reported and no watch is left", async () => {
    const place = await newPlace();
    await put(place.user, { model: "a" });
    const { watch, news } = await watching(place);
    await put(place.user, { model: "b" });
    watch.close();
    watch.close();
    await put(place.user, { model: "c" });
    await settled();
    expect(news).toEqual([]);
    expect(await readdir(place.home)).toEqual(["settings.json"]);
  });

  it("changes become entries of the transcript; what is not set is null", () => {
    expect(
      settingDrafts([
        { name: "flags.snip", before: false, after: true, source: "project", from: "/p/settings.json" },
        { name: "contextTokens", before: 5_000, after: undefined, source: "default", from: "built in" },
      ]),
    ).toEqual([
      { type: "setting", name: "flags.snip", value: true, before: false, source: "project", from: "/p/settings.json" },
      { type: "setting", name: "contextTokens", value: null, before: 5_000, source: "default", from: "built in" },
    ]);
  });
});
