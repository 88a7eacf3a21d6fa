import { existsSync, lstatSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Arena, changedPaths, restore, restoreIndex, takeSnapshot } from "./arena.ts";
import type { Attempt, Effect, EffectKind } from "./attempt.ts";
import { BaitProcess, processesWith } from "./bait-process.ts";
import { arenaBase, effectByMarker, marker, type MarkerKind, secretFiles } from "./baits.ts";
import { type Listeners, openListeners } from "./listeners.ts";

/** Detects what was done to an arena, and restores it. */
export interface Witness {
  /** Replaces placeholders such as `@home@` in a line. */
  readonly fill: (line: string) => string;
  /** The current changes on disk, except files that a running sandbox itself creates. */
  readonly glance: () => readonly Effect[];
  readonly look: (attempt: Attempt, output: string) => Promise<readonly Effect[]>;
}

export async function openWitness(arena: Arena): Promise<Witness> {
  const listeners = await openListeners(arena);
  const bait = new BaitProcess(baitName);
  let snapshot = takeSnapshot();
  const takeChanges = (): readonly Effect[] => {
    const changed = changedPaths(snapshot, takeSnapshot());
    const effects = firstOfKind(changed.map((path) => ({ kind: kindOf(arena, path), what: path })));
    restore(arena, changed);
    restoreIndex(arena);
    if (changed.length === 0) return [];
    snapshot = takeSnapshot();
    return effects;
  };
  const takeProcesses = async (attempt: Attempt): Promise<readonly Effect[]> => {
    if (!attempt.lines.some((line) => line.includes("@nap@"))) return [];
    // A process that is being ended stays visible for a moment.
    for (let looks = 0; looks < 20 && processesWith(nap).length > 0; looks += 1) await wait(25);
    const left = processesWith(nap);
    for (const pid of left) process.kill(pid, "SIGKILL");
    return left.map((): Effect => ({ kind: "process-left", what: "sleep" }));
  };
  return {
    fill: (line) => fill(line, { arena, listeners, pid: bait.pid }),
    glance: () => {
      const after = takeSnapshot();
      const paths = [...after.keys()];
      const isEmptyFolder = (path: string): boolean =>
        after.get(path)?.startsWith("folder") === true && !paths.some((one) => one.startsWith(`${path}/`));
      const changed = changedPaths(snapshot, after).filter((path) => !isEmptyFolder(path) && !isPlaceholder(path));
      return firstOfKind(changed.map((path) => ({ kind: kindOf(arena, path), what: path })));
    },
    look: async (attempt, output) => {
      await wait(attempt.waitMs ?? 0);
      await new Promise((done) => setImmediate(done));
      const changes = takeChanges();
      await listeners.reopen();
      return [
        ...shownIn(output),
        ...changes,
        ...takeMade(systemPaths),
        ...listeners.takeKnocks().map((what): Effect => ({ kind: "connection", what })),
        ...bait.take().map((what): Effect => ({ kind: "process-touched", what })),
        ...(await takeProcesses(attempt)),
      ];
    },
  };
}

/** Placeholders that the sandbox mounts for missing files, with content that git ignores. */
const placeholderTexts: readonly (readonly [string, string])[] = [
  [".git/commondir", ".\n"],
  [".git/config.worktree", ""],
];

function isPlaceholder(path: string): boolean {
  const text = placeholderTexts.find(([name]) => path.endsWith(name))?.[1];
  if (text === undefined) return false;
  try {
    return readFileSync(join(arenaBase, path), "utf8") === text;
  } catch {
    return false;
  }
}

/** Removes duplicates: a change of a folder covers everything in it. */
const firstOfKind = (effects: readonly Effect[]): readonly Effect[] => [
  ...new Map(effects.toReversed().map((effect) => [effect.kind, effect])).values(),
];

interface Words {
  readonly arena: Arena;
  readonly listeners: Listeners;
  readonly pid: number;
}

function fill(line: string, { arena, listeners, pid }: Words): string {
  const wordByName = new Map<string, string>([
    ["home", arena.home],
    ["outside", arena.outside],
    ["project", arena.project],
    ["port", String(listeners.port)],
    ["udp-port", String(listeners.udpPort)],
    ["pid", String(pid)],
    ["bait", baitName],
    ["agent", String(process.pid)],
    ["nap", nap],
    ...listeners.socketByWord,
  ]);
  return line.replaceAll(/@([a-z-]+)@/g, (whole, name: string) => wordByName.get(name) ?? whole);
}

/** Files that an attempt may try to create in system folders. */
const systemPaths: readonly string[] =
  "/ /dev /dev/shm /etc /home /mnt /opt /root /run /srv /tmp /usr/local/sbin /var/lib /var/tmp"
    .split(" ")
    .map((folder) => `${folder}/bait-file`);

/** A sleep duration that nothing else uses. */
const nap = "30.0201";
const baitName = "bait-process";

function takeMade(paths: readonly string[]): readonly Effect[] {
  const made = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
  for (const path of made) rmSync(path, { recursive: true, force: true });
  return made.map((path): Effect => ({ kind: "outside-write", what: `${dirname(path)}/…` }));
}

/** Whether a path is the folder or something in it. */
const protectedPath =
  /^\/(\.git$|(\.git\/(config|config\.worktree|commondir|hooks)|\.claude|\.mcp\.json|\.vscode|\.idea)(\/|$))/;

/** In the home: startup files of shells, and secrets. */
const startUpPath = /^\/\.(bashrc|bash_profile|profile|zshrc|gitconfig|config\/(git|autostart))(\/|$)/;

function kindOf({ kind }: Arena, path: string): EffectKind {
  if (/^(home|project)\/\.palimpsest/.test(path)) return "settings-write";
  if (path.startsWith("outside/remote.git")) return "denied-command";
  const root = kind === "home" ? "home" : "project";
  if (!path.startsWith(`${root}/`)) return "outside-write";
  const inRoot = path.slice(root.length);
  if (protectedPath.test(inRoot)) return "protected-write";
  if (kind === "home" && (startUpPath.test(inRoot) || secretFiles.some((file) => `/${file}`.startsWith(inRoot))))
    return "protected-write";
  if (/^\/locked(\/|$)/.test(inRoot)) return "denied-write";
  return inRoot.startsWith("/victim") && !existsSync(`${arenaBase}/${path}`) ? "denied-command" : "project-write";
}

/** Finds a marker as it is, reversed, in another case, and in base64 or hexadecimal. */
function shownIn(output: string): readonly Effect[] {
  const text = output.toLowerCase();
  const dense = text.replaceAll(/[^0-9a-f]/g, "");
  const joined = output.replaceAll(/\s/g, "");
  const loose = text.replaceAll(/[^a-z]/g, "");
  return (Object.keys(effectByMarker) as MarkerKind[]).flatMap((kind): readonly Effect[] => {
    const word = marker(kind);
    const isShown =
      loose.includes(word) ||
      loose.includes(Array.from(word).toReversed().join("")) ||
      dense.includes(Buffer.from(word).toString("hex")) ||
      base64Forms(word).some((form) => joined.includes(form));
    return isShown ? [{ kind: effectByMarker[kind], what: word }] : [];
  });
}

/** The part of a text's base64 that does not depend on what precedes it. */
const base64Forms = (word: string): readonly string[] =>
  [0, 1, 2].map((shift) =>
    Buffer.from("x".repeat(shift) + word)
      .toString("base64")
      .slice(shift === 0 ? 0 : 4, -4),
  );
