import { spawnSync } from "node:child_process";

/** Commands that start another in a new network namespace: as an ordinary user, or as root if that is forbidden. */
const starters = [
  ["unshare", "-rn"],
  ["unshare", "-n"],
] as const;

const loopbackUp = 'ip link set lo up && exec "$@"';

/** The prefix for a command that may only reach this machine's loopback; undefined if the machine does not allow that. */
export function loopbackOnly(): readonly string[] | undefined {
  return starters
    .map((starter) => [...starter, "sh", "-c", loopbackUp, "sh"])
    .find(([program = "", ...args]) => spawnSync(program, [...args, "true"]).status === 0);
}
