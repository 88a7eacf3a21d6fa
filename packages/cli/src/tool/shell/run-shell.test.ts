import { mkdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { millis } from "palimpsest/internal/schema/brand";
import { runShell, OutputBuffer } from "./run-shell.ts";
import * as fc from "fast-check";

test.each(["/bin/bash", "/bin/sh"])(
  "%s tells its end and its folder, and leaves descriptor 3 to the command",
  async (shell) => {
    const cwd = await realpath(await temporaryFolder());
    await mkdir(join(cwd, "a"));
    const run = { shell, cwd, env: { PATH: process.env["PATH"] ?? "" }, timeoutMs: millis(20_000) };
    const { signal } = new AbortController();
    for (const last of ["(exit 3)", "exit 3"]) {
      const command = `exec 3>log.txt; echo hi >&3; cd a; ${last}`;
      expect(await runShell({ ...run, command, signal })).toEqual({
        how: { kind: "exited", code: 3 },
        output: "",
        leftOutBytes: 0,
        folder: join(cwd, "a"),
        leftRunning: "none",
      });
      expect(await readFile(join(cwd, "log.txt"), "utf8")).toBe("hi\n");
    }
  },
);

test("gives the bytes back while they fit, and their two ends when they do not", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 30 })),
      fc.integer({ min: 2, max: 60 }),
      (parts, most) => {
        const output = new OutputBuffer(most);
        for (const part of parts) output.add(Buffer.from(part));
        const whole = parts.join("");
        const half = Math.floor(most / 2);
        const expected =
          whole.length <= 2 * half
            ? whole
            : `${whole.slice(0, half)}\n… (${whole.length - 2 * half} bytes left out) …\n${whole.slice(-half)}`;
        expect(output.text()).toBe(expected);
      },
    ),
  );
});

test("holds its two ends and at most a chunk more, however much comes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 100 }),
      fc.integer({ min: 2, max: 60 }),
      (sizes, most) => {
        const output = new OutputBuffer(most);
        for (const size of sizes) {
          output.add(Buffer.alloc(size, "x"));
          expect(output.heldBytes).toBeLessThan(most + Math.max(...sizes));
        }
      },
    ),
  );
});
