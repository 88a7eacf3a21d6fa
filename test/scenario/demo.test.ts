import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it, vi } from "vitest";
import { compiledOnce, sourceFlag } from "./support/command-line.ts";

// It starts several processes: beside other tests they share the cores.
vi.setConfig({ testTimeout: 180_000 });

const folder = resolve(import.meta.dirname, "../../examples/demo");

interface RunOptions {
  readonly scenario?: string;
  /** Given all that was printed so far, and the process. */
  readonly onText?: (out: string, child: ReturnType<typeof spawn>) => void;
}

async function runDemo({ scenario, onText = () => {} }: RunOptions = {}) {
  const home = await mkdtemp(join(tmpdir(), "demo-home-"));
  const tmp = join(home, "tmp");
  await mkdir(tmp);
  const env = { ...compiledOnce, HOME: home, USERPROFILE: home, TMPDIR: tmp, TEMP: tmp, TMP: tmp };
  const argv = [sourceFlag, join(folder, "start.ts"), ...(scenario === undefined ? [] : [scenario])];
  const child = spawn(process.execPath, argv, { env, cwd: home });
  const ended = once(child, "exit");
  let [out, err] = ["", ""];
  child.stderr.setEncoding("utf8").on("data", (text) => (err += String(text)));
  child.stdout.setEncoding("utf8").on("data", (text) => onText((out += String(text)), child));
  await ended;
  const left = [...(await readdir(tmp)), ...(await readdir(home))];
  return { code: child.exitCode, out, err, left, running: await findProcesses(tmp) };
}

/** Processes that were given this folder in their environment. None where the system does not show it. */
async function findProcesses(folder: string): Promise<readonly string[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")));
  return pids.filter((_, at) => texts[at]?.includes(folder));
}

const chapters = [
  "A failing test",
  "A log that no window should hold",
  "Longer than the window",
  "Refused",
  "Torn",
  "Compact, undo, redo",
  "What happened",
  "The bill",
];

const claims =
  "before after pinned offloaded cleared compacted kept release reopened hidden recalled carried undone redone lost window saved";

it("the demo ends well without a terminal, a key, a home and git, says only what is so, and leaves nothing behind", async () => {
  const { code, out, err, left } = await runDemo();
  expect({ code, err, left }).toEqual({ code: 0, err: "", left: ["tmp"] });
  expect(out).not.toMatch(/NOT SO|undefined|NaN|unknown/);
  expect(out).not.toContain("\u001B");
  expect([...out.matchAll(/^\d {2}(?<name>.+)$/gm)].map((one) => one.groups?.["name"])).toEqual(chapters);
  const claimed = [...out.matchAll(/^ {2}(?<label>\w+) +✓ /gm)].map((one) => one.groups?.["label"]);
  expect(claimed.join(" ")).toBe(claims);
  // The test fails before the line is changed and passes after it.
  const steps = [/before +✓ one test fails/, /✗ test/, /● edit src\/clock\.js/, /● test/, /after +✓ all tests pass/];
  const places = steps.map((step) => out.search(step));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  // Every edit that was told has a receipt, and so have the pin, the undo and the redo.
  const receipts = /^7 {2}What happened[^]*?(?=^8 )/m.exec(out)?.[0] ?? "";
  const kinds = [...receipts.matchAll(/^ {2}(?<kind>[a-z]+)[ ,].*(?:\$\d|before anything was sent)/gm)].map(
    (one) => one.groups?.["kind"],
  );
  const told = (mark: RegExp): number => out.match(mark)?.length ?? 0;
  expect(
    Object.fromEntries(
      Map.groupBy(kinds, String)
        .entries()
        .map(([kind, all]) => [kind, all.length]),
    ),
  ).toEqual({
    boundary: told(/^◆ compacted: /gm),
    clear: told(/^◦ cleared /gm),
    offload: told(/^◦ offloaded /gm),
    pin: 1,
    undo: 2,
  });
});

it("a demo that is stopped removes its folder too", async () => {
  let isStopped = false;
  const { code, left } = await runDemo({
    onText: (out, child) => {
      if (!isStopped && out.includes("✗ test")) isStopped = child.kill("SIGINT");
    },
  });
  expect({ code, left }).toEqual({ code: 1, left: ["tmp"] });
});

const teamClaims = "before after once taken ended messages bill";

it("the team of the demo does each task once, though one is killed, and leaves neither process nor file", async () => {
  const { code, out, err, left, running } = await runDemo({ scenario: "team" });
  expect({ code, err, left, running }).toEqual({ code: 0, err: "", left: ["tmp"], running: [] });
  expect(out).not.toMatch(/NOT SO|undefined|NaN|unknown/);
  expect(out).not.toContain("\u001B");
  const claimed = [...out.matchAll(/^ {2}(?<label>\w+) +✓ /gm)].map((one) => one.groups?.["label"]);
  expect(claimed.join(" ")).toBe(teamClaims);
  // All three want the first task; one gets it, perhaps the one that is killed.
  const [before = ""] = out.split("✗ killed");
  expect(before.match(/✓ has claimed "Fix localDay/g)).toHaveLength(1);
  expect(before.match(/✗ is refused "Fix localDay/g)).toHaveLength(2);
  const subject = /ben +✗ killed .* in the middle of "(?<subject>[^"]+)"/.exec(out)?.groups?.["subject"];
  expect(out).toMatch(new RegExp(`(?:ann|cid) +✓ has done "${subject}"`));
  expect(out).toMatch(/^ {2}all +6( +\d+){3} +[\d,]+ +\$0\.\d{4}$/m);
});

it("a team that is stopped in the middle ends its processes and removes its folder", async () => {
  let isStopped = false;
  const { code, out, left, running } = await runDemo({
    scenario: "team",
    onText: (text, child) => {
      if (!isStopped && text.includes("◂ leader")) isStopped = child.kill("SIGINT");
    },
  });
  expect({ code, left, running }).toEqual({ code: 1, left: ["tmp"], running: [] });
  expect(out).not.toContain("What they did");
});

it("a scenario that is not there is refused, with those that are", async () => {
  const { code, out, err } = await runDemo({ scenario: "nothing" });
  expect({ code, out, err }).toEqual({
    code: 2,
    out: "",
    err: "There is no scenario nothing. There are: session, team.\n",
  });
});

it("the demo uses the public names of the packages alone", async () => {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".ts"));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  const imported = texts.flatMap((text) => [...text.matchAll(/ from "(?<from>[^"]+)"/g)].map((one) => one[1] ?? ""));
  const others = new Set(imported.filter((name) => !/^(?:node:|\.\/)/.test(name)));
  expect([...others].toSorted()).toEqual(["@anthropic-ai/sdk", "@palimpsest/simulator", "palimpsest"]);
});

it("one test of the demo's project fails, and its cause is two imports away; it needs nothing but Node", async () => {
  const project = join(folder, "project");
  const text = (path: string): Promise<string> => readFile(join(project, path), "utf8");
  expect(await text("test/bulletin.test.js")).not.toMatch(/clock\.js|days\.js/);
  expect(await text("src/bulletin.js")).toMatch(/from "\.\/days\.js"/);
  expect(await text("src/days.js")).toMatch(/localDay.* from "\.\/clock\.js"/);
  for (const part of ["src", "test"])
    for (const file of await readdir(join(project, part))) {
      const from = [...(await text(join(part, file))).matchAll(/from "(?<from>[^"]+)"/g)].map((one) => one[1] ?? "");
      expect(from.filter((path) => !/^(?:node:|\.)/.test(path))).toEqual([]);
    }
});
