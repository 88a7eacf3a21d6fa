import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import type { Sandbox } from "palimpsest/internal/ports/sandbox";
import { findSandbox, trySandbox, socketFilter } from "./find-sandbox.ts";

afterEach(() => vi.unstubAllEnvs());

test("a socket filter of the right size but with another content is replaced", async () => {
  const folder = await temporaryFolder();
  const filter = Buffer.from(socketFilter("x64") ?? []);
  await writeFile(join(folder, "sockets.bpf"), Buffer.alloc(filter.byteLength));
  // Used only on a machine without bubblewrap.
  await writeFile(join(folder, "bwrap"), "#!/bin/sh\n", { mode: 0o755 });
  await findSandbox({ env: { PATH: folder }, folder, platform: "linux", arch: "x64" });
  expect((await readFile(join(folder, "sockets.bpf"))).equals(filter)).toBe(true);
});

test("without a temporary folder there is no sandbox, and no rejection", async () => {
  const folder = await temporaryFolder();
  vi.stubEnv("TMPDIR", join(folder, "missing"));
  const search = await findSandbox({ env: {}, folder, platform: "darwin" });
  expect(search.kind === "none" && search.why).toContain("ENOENT");
});

test.each([
  ["fails", "exit 3", "none"],
  ["works", "exit 0", "found"],
])("a sandbox is left when its trial %s", async (_how, script, kind) => {
  const leave = vi.fn<() => Promise<void>>(async () => undefined);
  const sandbox: Sandbox = {
    system: "bubblewrap",
    enter: async (start) => ({ kind: "ready", start: { ...start, args: ["-c", script] }, leave }),
  };
  expect((await trySandbox(sandbox, async () => "")).kind).toBe(kind);
  expect(leave).toHaveBeenCalledOnce();
});
