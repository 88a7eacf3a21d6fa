import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import type { Sandbox } from "palimpsest/internal/ports/sandbox";
import {
  findSandbox,
  trySandbox,
  socketFilter,
  bubblewrapRemedy,
  machineFacts,
  type MachineFacts,
} from "./find-sandbox.ts";

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

const plain: MachineFacts = { packageManager: undefined, place: "machine", valueBySwitch: new Map() };
const noNamespace = "bwrap: No permissions to creating new namespace, likely because the kernel does not allow it";
const noUidMap = "bwrap: setting up uid map: Permission denied";
const switched = (name: string, value: string): MachineFacts => ({ ...plain, valueBySwitch: new Map([[name, value]]) });

test.each<[string, MachineFacts, string | undefined, string]>([
  ["not installed, with apt", { ...plain, packageManager: "apt-get" }, undefined, "sudo apt install bubblewrap"],
  ["not installed, with pacman", { ...plain, packageManager: "pacman" }, undefined, "sudo pacman -S bubblewrap"],
  ["not installed, and nobody knows how", plain, undefined, "install the package bubblewrap"],
  ["too old", plain, "bwrap: Unknown option --perms", "newer bubblewrap"],
  [
    "AppArmor",
    switched("kernel.apparmor_restrict_unprivileged_userns", "1"),
    noUidMap,
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  ],
  [
    "the kernel's switch",
    switched("kernel.unprivileged_userns_clone", "0"),
    noNamespace,
    "sysctl -w kernel.unprivileged_userns_clone=1",
  ],
  ["none left", switched("user.max_user_namespaces", "0"), noNamespace, "sysctl -w user.max_user_namespaces=15000"],
  ["a container", { ...plain, place: "container" }, noNamespace, "docker run --security-opt seccomp=unconfined"],
  ["nothing that is known", plain, noNamespace, "bwrap --ro-bind / /"],
  ["another failure", plain, "bwrap: execvp true: No such file or directory", "bwrap --ro-bind / /"],
])("the remedy names what stands in the way: %s", (_, facts, failure, remedy) => {
  expect(bubblewrapRemedy(facts, failure)).toContain(remedy);
});

test("the facts of this machine can be asked for", async () => {
  expect((await machineFacts()).valueBySwitch).toBeInstanceOf(Map);
});
