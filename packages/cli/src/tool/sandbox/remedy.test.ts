import { expect, test } from "vitest";
import { bubblewrapRemedy, machineFacts, type MachineFacts } from "./find-sandbox.ts";

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
