import type { ProgramStart } from "palimpsest/internal/ports/sandbox";
import { isInside } from "../inside.ts";

/**
 * Commands that run beside each other share the project: one may swap a folder for a link between our look at it and
 * another's mount, which then lands where the link leads. So a program whose mounts lie in folders that others may move
 * is started only once each of them is where it was meant to be, as the system tells it inside. Pure.
 */
export function checkedStart(start: ProgramStart, { points, folders }: CheckedMounts): ProgramStart {
  const movable = points.filter((point) => folders.some((folder) => liesDeeper(point, folder)));
  if (movable.length === 0) return start;
  const list = movable.map(escapePath).join(" ");
  return { ...start, program: "/bin/sh", args: ["-c", script, "sh", list, start.program, ...start.args] };
}

export interface CheckedMounts {
  readonly points: readonly string[];
  /** In which commands may write, now or beside this one. */
  readonly folders: readonly string[];
}

/** What stands in the folder itself is held in its place by each command's own mounts. */
const liesDeeper = (point: string, folder: string): boolean =>
  isInside(point, folder) && point.slice(folder.length + 1).includes("/");

/** As the system writes mount points. */
const escapePath = (path: string): string =>
  path.replaceAll(/[\\ \t\n]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);

const script = `seen=" "
while read -r _ _ _ _ point _; do seen="$seen$point "; done </proc/self/mountinfo
set -f
for point in $1; do
  case $seen in
    *" $point "*) ;;
    *) echo "bwrap: a folder of the project was moved while the command was started: try again" >&2; exit 126 ;;
  esac
done
set +f
shift
exec "$@"`;
