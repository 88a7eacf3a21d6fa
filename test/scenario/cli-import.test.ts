import { cpSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { translatedBytesMax } from "../../packages/palimpsest/src/import/limits.ts";
import { importFixtures } from "../fixture/imported.ts";
import { expectRefusal, json, newWorld, rawLog, said, type World } from "./support/cli-world.ts";

interface Report {
  readonly imported: {
    path: string;
    format: string;
    session: string;
    goesOnFrom?: string;
    notes: { kind: string }[];
  }[];
  readonly skipped: { path: string; why: string; detail: string }[];
}

const fixtures = join(import.meta.dirname, "../fixture/import");

/** A folder of sessions, some below it, with files that are none. */
function folderOf(world: World): string {
  const folder = join(world.work, "sessions");
  cpSync(fixtures, join(folder, "deep/er"), { recursive: true });
  writeFileSync(join(folder, "notes.md"), "Not a session.\n");
  writeFileSync(join(folder, "nothing.jsonl"), "");
  mkdirSync(join(folder, "empty"));
  return folder;
}

const contentsOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), "base64"));

describe("palimpsest sessions import", () => {
  it("makes a session of every file it knows, says why not of the others, and writes nothing into the source", async () => {
    const world = await newWorld();
    const folder = folderOf(world);
    const before = contentsOf(folder);
    const report = json<Report>(await world.call("sessions", "import", folder, "missing", "--json"));
    expect(report.imported).toHaveLength(importFixtures.length);
    expect(report.skipped.map(({ why }) => why).toSorted()).toEqual(["empty", "not found", "unknown format"]);
    expect(contentsOf(folder)).toEqual(before);
    for (const { session, format } of report.imported.filter((_, at) => at % 4 === 0)) {
      const view = json<{ messages: unknown[]; damage: unknown[] }>(await world.call("view", session, "--json"));
      expect(view.messages.length, format).toBeGreaterThan(0);
      expect(view.damage).toEqual([]);
    }
  });

  it("keeps where a session came from: format, and length and hash of the file itself", async () => {
    const world = await newWorld();
    const report = json<Report>(await world.call("sessions", "import", join(fixtures, "codex.jsonl"), "--json"));
    const shown = json<{ path: string }>(
      await world.call("sessions", "show", report.imported[0]?.session ?? "", "--json"),
    );
    const [origin] = readFileSync(shown.path, "utf8").split("\n");
    expect(JSON.parse(origin ?? "")).toMatchObject({
      type: "origin",
      format: "codex",
      translatedFrom: { length: readFileSync(join(fixtures, "codex.jsonl")).length },
    });
  });

  it("passes over what was imported before, which is no failure; where there was nothing to import it exits with 1", async () => {
    const world = await newWorld();
    const first = await world.call("sessions", "import", fixtures);
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toMatch(/^session +format +size +notes +file\n/);
    expect(first.out).toContain(`${importFixtures.length} imported, 0 skipped\n`);
    const again = await world.call("sessions", "import", fixtures);
    expect(again.code).toBe(0);
    expect(again.out).toBe(`0 imported, ${importFixtures.length} skipped\n`);
    expect(again.err).toContain(`skipped (imported before): ${importFixtures.length}\n`);
    const nothing = await world.call("sessions", "import", world.file("notes.md", "Not a session.\n"));
    expect(nothing).toMatchObject({ code: 1, out: "0 imported, 1 skipped\n" });
    const missing = await world.call("sessions", "import", "not-there");
    expect(missing).toMatchObject({ code: 3, out: "0 imported, 1 skipped\n" });
    expect(missing.err).toBe("skipped (not found): 1\n  not-there  there is no such file or folder\n");
  });

  it("lists what translating did not carry, each kind once for all files", async () => {
    const world = await newWorld();
    const { imported } = json<Report>(await world.call("sessions", "import", fixtures, "--json"));
    const other = await newWorld();
    const { out } = await other.call("sessions", "import", fixtures);
    const kinds = [...out.matchAll(/^note: (\S+) ×[\d,]+: \S/gm)].map(([, kind = ""]) => kind);
    expect(kinds.toSorted()).toEqual(
      [...new Set(imported.flatMap(({ notes }) => notes.map(({ kind }) => kind)))].toSorted(),
    );
  });

  it("of a file that has grown says which session it goes on from", async () => {
    const world = await newWorld();
    const raw = rawLog();
    raw.add(said.user("First."));
    const path = world.file("grows.jsonl", raw.entries);
    const [first] = json<Report>(await world.call("sessions", "import", path, "--json")).imported;
    raw.add(said.text("m1", "Second."));
    world.file("grows.jsonl", raw.entries);
    const second = await world.call("sessions", "import", path);
    const id = /^(\S{8}) +claude-code/m.exec(second.out)?.[1] ?? "none";
    expect(second.out).toContain(`${id} goes on where ${first?.session.slice(0, 8)} ends: its file has grown\n`);
    raw.add(said.user("Third."));
    world.file("grows.jsonl", raw.entries);
    const [third] = json<Report>(await world.call("sessions", "import", path, "--json")).imported;
    expect(third?.goesOnFrom?.slice(0, 8)).toBe(id);
  });

  it("by two processes at once makes one session of each file; who comes second tells it as imported before", async () => {
    const world = await newWorld();
    // So many that both are still at it however far apart they start.
    const files = Array.from({ length: 120 }, (_, n) => {
      const raw = rawLog();
      raw.add(said.user(`Question ${n}.`));
      return world.file(`${n}.jsonl`, raw.entries);
    });
    const both = Array.from({ length: 2 }, () => world.start({}, "sessions", "import", world.work, "--json"));
    const reports = (await Promise.all(both)).map((one) => json<Report>(one));
    const imported = reports.flatMap((report) => report.imported);
    const skipped = reports.flatMap((report) => report.skipped);
    expect(imported.map(({ path }) => path).toSorted()).toEqual(files.toSorted());
    const sessionByPath = new Map(imported.map(({ path, session }) => [path, session]));
    expect(skipped).toHaveLength(files.length);
    for (const { path, why, detail } of skipped)
      expect([why, detail]).toEqual(["imported before", `session ${sessionByPath.get(path)}`]);
    const listed = json<{ sessionId: string }[]>(await world.call("sessions", "list", "--all", "--json"));
    expect(listed.map(({ sessionId }) => sessionId).toSorted()).toEqual([...sessionByPath.values()].toSorted());
  });

  it("does not tell a file as imported before whose session is damaged where it says what it was made from", async () => {
    const world = await newWorld();
    const file = join(fixtures, "codex.jsonl");
    const first = json<Report>(await world.call("sessions", "import", file, "--json"));
    const session = first.imported[0]?.session ?? "";
    const { path } = json<{ path: string }>(await world.call("sessions", "show", session, "--json"));
    truncateSync(path, 0);
    const again = await world.call("sessions", "import", file);
    expect(again).toMatchObject({ code: 1, out: "0 imported, 1 skipped\n" });
    expect(again.err).toContain(`its copy, session ${session}, is damaged: run palimpsest sessions fsck\n`);
  });

  it("of one file into two projects makes a session of its own in each", async () => {
    const world = await newWorld();
    const elsewhere = join(world.work, "elsewhere");
    mkdirSync(join(elsewhere, ".git"), { recursive: true });
    const file = join(fixtures, "codex.jsonl");
    const reports = [
      json<Report>(await world.call("sessions", "import", file, "--json")),
      json<Report>(await world.callWith({ cwd: elsewhere }, "sessions", "import", file, "--json")),
    ];
    const sessions = reports.flatMap(({ imported }) => imported.map(({ session }) => session));
    expect(new Set(sessions).size).toBe(2);
    for (const session of sessions) expect((await world.call("sessions", "show", session)).code).toBe(0);
  });

  it("needs to be told what to import", async () => {
    const world = await newWorld();
    expectRefusal(await world.call("sessions", "import"), 2, "is missing");
  });
});

describe("another agent's file where it lies", () => {
  it("can be viewed, shown and checked, with what its format does not carry", async () => {
    const world = await newWorld();
    const path = join(fixtures, "pi.jsonl");
    const view = json<{ import: { format: string; notes: { kind: string }[] } }>(
      await world.call("view", path, "--json"),
    );
    expect(view.import.format).toBe("pi");
    expect(view.import.notes.map(({ kind }) => kind)).toContain("compacted");
    const text = await world.call("view", path);
    expect(text.err).toContain("translated from a pi session\nnote: compacted ×1");
    expect((await world.call("context", path)).err).toBe("translated from a pi session\n");
    expect((await world.call("sessions", "fsck", path)).out).toContain("no damage");
    expect((await world.call("sessions", "show", path)).code).toBe(0);
  });

  it("is refused with its size where it is too large to translate", async () => {
    const world = await newWorld();
    const path = world.file("huge.jsonl", readFileSync(join(fixtures, "codex.jsonl")));
    truncateSync(path, translatedBytesMax + 1);
    expectRefusal(await world.call("view", path), 6, /257 MiB of at most 256 MiB/);
  });
});
