import { mkdir, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { palimpsest } from "./support/command-line.ts";

it("the demo ends well, shows every view again byte for byte, and leaves nothing behind", async () => {
  const home = await mkdtemp(join(tmpdir(), "demo-home-"));
  const tmp = join(home, "tmp");
  await mkdir(tmp);
  const env = { HOME: home, USERPROFILE: home, TMPDIR: tmp, TEMP: tmp, TMP: tmp };
  const { code, out, err } = await palimpsest({ home: join(home, ".palimpsest"), cwd: home, env }, "demo");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out.match(/byte-identical/g)).toHaveLength(2);
  expect(out).toContain("byte for byte");
  expect(out).not.toContain("DIFFERENT");
  expect(out).not.toContain("undefined");
  for (const step of [
    "An agent at work",
    "repaired",
    "A long session",
    "Offload",
    "Clear",
    "Compact",
    "Crash",
    "Expand",
    "Undo",
  ])
    expect(out).toContain(step);
  expect(await readdir(tmp)).toEqual([]);
  expect(await readdir(home)).toEqual(["tmp"]);
});
