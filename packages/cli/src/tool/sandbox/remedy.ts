import { access, readFile } from "node:fs/promises";
import { join } from "node:path";

/** What of this machine decides whether bubblewrap can work. */
export interface MachineFacts {
  /** The first that is there, by the name of its program. */
  readonly packageManager: string | undefined;
  readonly place: "container" | "machine";
  /** Of the kernel's switches, `kernel.unprivileged_userns_clone` and the like: those that exist. */
  readonly valueBySwitch: ReadonlyMap<string, string>;
}

/** What a user can do so that bubblewrap works, one line. `failure`: what it said when it was tried; absent: there is none. */
export function bubblewrapRemedy(facts: MachineFacts, failure?: string): string {
  if (failure === undefined) return installRemedy(facts.packageManager);
  if (/unknown option/i.test(failure)) return "install a newer bubblewrap: 0.5 or later";
  if (!/namespace|permission denied|not permitted|uid map|loopback|mount/i.test(failure)) return byHand;
  const closed = closingSwitches.find(({ name, closedBy }) => facts.valueBySwitch.get(name) === closedBy);
  if (facts.place === "container") return containerRemedy;
  if (closed === undefined) return byHand;
  return `let programs make user namespaces: sudo sysctl -w ${closed.name}=${closed.openBy}`;
}

const installRemedy = (packageManager: string | undefined): string => {
  const install = installByManager.get(packageManager ?? "");
  return install === undefined
    ? "install the package bubblewrap, so that bwrap is on PATH"
    : `install bubblewrap: ${install}`;
};

const installByManager: ReadonlyMap<string, string> = new Map([
  ["apt-get", "sudo apt install bubblewrap"],
  ["dnf", "sudo dnf install bubblewrap"],
  ["pacman", "sudo pacman -S bubblewrap"],
  ["zypper", "sudo zypper install bubblewrap"],
  ["apk", "sudo apk add bubblewrap"],
]);

const byHand = "see what bwrap says by hand: bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all true";
const containerRemedy =
  "start the container so that it may make user namespaces: docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined";

/** Each alone keeps a user's programs from making namespaces. */
const closingSwitches = [
  { name: "kernel.apparmor_restrict_unprivileged_userns", closedBy: "1", openBy: "0" },
  { name: "kernel.unprivileged_userns_clone", closedBy: "0", openBy: "1" },
  { name: "user.max_user_namespaces", closedBy: "0", openBy: "15000" },
] as const;

/** Must not reject: what can't be read is not there. */
export async function machineFacts(): Promise<MachineFacts> {
  const managers = await Promise.all(
    [...installByManager.keys()].map(async (name) =>
      (await isThere(join("/usr/bin", name))) || (await isThere(join("/sbin", name))) ? name : undefined,
    ),
  );
  const isContainer = (await isThere("/.dockerenv")) || (await isThere("/run/.containerenv"));
  const values = await Promise.all(closingSwitches.map(async ({ name }) => [name, await valueOf(name)] as const));
  return {
    packageManager: managers.find((name) => name !== undefined),
    place: isContainer ? "container" : "machine",
    valueBySwitch: new Map(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))),
  };
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const valueOf = (name: string): Promise<string | undefined> =>
  readFile(join("/proc/sys", name.replaceAll(".", "/")), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
