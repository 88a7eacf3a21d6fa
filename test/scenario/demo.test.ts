import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { palimpsest } from "./support/command-line.ts";

async function world() {
  const home = await mkdtemp(join(tmpdir(), "demo-home-"));
  const tmp = join(home, "tmp");
  await mkdir(tmp);
  return { home, tmp, env: { HOME: home, USERPROFILE: home, TMPDIR: tmp, TEMP: tmp, TMP: tmp } };
}

it("the demo ends well, shows every view again byte for byte, and leaves nothing behind", async () => {
  const { home, tmp, env } = await world();
  const { code, out, err } = await palimpsest({ home: join(home, ".palimpsest"), cwd: home, env }, "demo");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).not.toMatch(/NOT SO|undefined|NaN|warning/);
  expect(out.match(/byte-identical/g)).toHaveLength(3);
  for (const step of ["An agent at work", "Crash", "Recall", "Compact, undo, redo", "Receipts", "The bill"])
    expect(out).toContain(step);
  const fired = [...out.matchAll(/^ {2}round \d+ +(?<layer>\w+)/gm)].map((one) => one.groups?.["layer"] ?? "");
  expect(new Set(fired)).toEqual(new Set(["offload", "clear", "compact"]));
  expect(fired.filter((layer) => layer === "compact").length).toBeGreaterThanOrEqual(2);
  // Every automatic edit has a receipt, and so have the one by hand, its undo and its redo.
  const receipts = /^5 {2}Receipts[^]*?(?=^6 )/m.exec(out)?.[0] ?? "";
  expect(receipts.match(/^ {2}(?:offload|clear|boundary|undo) /gm)).toHaveLength(fired.length + 3);
  expect(receipts.split("\n").length).toBeLessThan(40);
  // The session is gone when somebody could copy it.
  expect(out).not.toContain("palimpsest undo ");
  const audits = [...out.matchAll(/audit (?<percent>\d+)%/g)].map((one) => Number(one.groups?.["percent"]));
  expect(Math.min(...audits)).toBeGreaterThanOrEqual(80);
  expect(Math.max(...audits)).toBeLessThan(100);
  expect(await readdir(tmp)).toEqual([]);
  expect(await readdir(home)).toEqual(["tmp"]);
});

it("a demo that is stopped removes its folder too", async () => {
  const { home, tmp, env } = await world();
  const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
  const child = spawn(process.execPath, [launcher, "demo"], {
    env: { ...process.env, ...env },
    cwd: home,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(child, "exit");
  let out = "";
  for await (const text of child.stdout.setEncoding("utf8")) {
    const isFirst = !out.includes("round");
    out += String(text);
    // A second request would end it at once.
    if (isFirst && out.includes("round")) child.kill("SIGINT");
  }
  expect(await ended).toEqual([1, null]);
  expect(await readdir(tmp)).toEqual([]);
});
