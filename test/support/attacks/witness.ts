import { existsSync, lstatSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Arena, changedPaths, restore, restoreIndex, takeSnapshot } from "./arena.ts";
import type { Attempt, Effect, EffectKind } from "./attempt.ts";
import { BaitProcess, processesWith } from "./bait-process.ts";
import { arenaBase, effectByMarker, marker, type MarkerKind, secretFiles } from "./baits.ts";
import { type Listeners, openListeners } from "./listeners.ts";

/** Sees what was done to an arena, and makes it as it was. */
export interface Witness {
  /** A line with its words in the place of `@home@` and the like. */
  readonly fill: (line: string) => string;
  /** Changes on disk as they are now, but for what a sandbox itself puts there while it holds something. */
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
    // One that is being ended is seen for a moment longer.
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

/** Files that the sandbox holds in the place of missing ones, with a content that means nothing to git. */
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

/** One of each: a change of a folder is one of all that lies in it. */
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

/** Files that an attempt may try to make in folders of the system. */
const systemPaths: readonly string[] =
  "/ /dev /dev/shm /etc /home /mnt /opt /root /run /srv /tmp /usr/local/sbin /var/lib /var/tmp"
    .split(" ")
    .map((folder) => `${folder}/bait-file`);

/** A time to sleep that nothing else sleeps. */
const nap = "30.0201";
const baitName = "bait-process";

function takeMade(paths: readonly string[]): readonly Effect[] {
  const made = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
  for (const path of made) rmSync(path, { recursive: true, force: true });
  return made.map((path): Effect => ({ kind: "outside-write", what: `${dirname(path)}/…` }));
}

/** Itself, or what lies in it. */
const protectedPath =
  /^\/(\.git$|(\.git\/(config|config\.worktree|commondir|hooks)|\.claude|\.mcp\.json|\.vscode|\.idea)(\/|$))/;

/** At home: what shells read when they start, and secrets. */
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

/** A marker is found as it is, upside down, in other letters, and as base64 or hexadecimal numbers make it. */
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

/** What stays of a text in base64, whatever stands before it. */
const base64Forms = (word: string): readonly string[] =>
  [0, 1, 2].map((shift) =>
    Buffer.from("x".repeat(shift) + word)
      .toString("base64")
      .slice(shift === 0 ? 0 : 4, -4),
  );
