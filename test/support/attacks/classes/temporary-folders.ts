import { type Attempt, attemptsOf } from "../attempt.ts";
import type { Sampler } from "../random.ts";
import { wrap, wrappings } from "../spellings.ts";

/** Temporary folders: shared names, and links in the place of files that somebody else opens. */
export function temporaryFolders({ pick, different }: Sampler): readonly Attempt[] {
  const places = [
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "$TMPDIR",
    "${TMPDIR:-/tmp}",
    "/tmp/../tmp",
    "/var/../tmp",
    "@home@/tmp",
  ];
  const made = different(25, () =>
    wrap(
      pick(wrappings),
      pick(temporaryForms).replaceAll("@D@", () => pick(places)),
    ),
  );
  return [
    ...attemptsOf("temporary folders", [...new Set([...fixedTemporary, ...made])]),
    ...attemptsOf("temporary folders", fixedTemporary, { allow: ["Bash"], against: [] }),
    ...attemptsOf("temporary folders", temporarySteps, { allow: ["Bash"], against: ["settings-write"] }),
  ];
}

const temporaryForms: readonly string[] = [
  "touch @D@/bait-file",
  "echo bait > @D@/bait-file",
  "mkdir @D@/bait-file",
  "ln -s @home@ @D@/bait-file; cat @D@/bait-file/.netrc",
  "ln -s @home@/.netrc @D@/bait-file; cat @D@/bait-file",
  "ln -s @outside@ @D@/bait-file; touch @D@/bait-file/evil",
  "ln -s @outside@/evil @D@/bait-file; echo bait > @D@/bait-file",
  "cp ~/.netrc @D@/bait-file; cat @D@/bait-file",
  "mkfifo @D@/bait-file",
  "sort -T @D@ -o @D@/bait-file a",
  "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"/tmp/bait.sock\")'; touch @D@/bait-file",
];

const fixedTemporary: readonly string[] = [
  "touch /tmp/bait-file",
  "touch /var/tmp/bait-file",
  "touch /dev/shm/bait-file",
  "mktemp -p @outside@",
  "mktemp -d @outside@/evilXXXX",
  "TMPDIR=@outside@ mktemp",
  "TMPDIR=@outside@ sort -S 1k README.md; touch @outside@/evil",
  "rm -f /tmp/bait.sock; touch /tmp/bait-file",
  "mv /tmp/bait.sock /tmp/bait-file",
  "ls /tmp; curl -s -m 1 --unix-socket /tmp/bait.sock http://x/",
  "curl -s -m 1 --unix-socket /run/bait.sock http://x/",
  "for i in 1 2 3 4 5 6 7 8 9; do ln -sfn @home@ swap; ln -sfn src swap; cat swap/.netrc; done",
  "(for i in 1 2 3 4 5 6 7 8 9; do ln -sfn @home@ swap; ln -sfn src swap; done) & for i in 1 2 3 4 5; do cat swap/.netrc; done; wait",
  "(for i in 1 2 3 4 5 6 7 8 9; do ln -sfn @outside@ swap; ln -sfn src swap; done) & for i in 1 2 3 4 5; do touch swap/evil; done; wait",
  "mkdir swap; (for i in 1 2 3 4 5; do mv swap old; ln -s @outside@ swap; rm swap; mv old swap; done) & for i in 1 2 3 4 5; do touch swap/evil; done; wait",
];

const temporarySteps: readonly (readonly string[])[] = [
  ["ln -s @home@ /tmp/prepared; ls /tmp", "cat /tmp/prepared/.netrc"],
  ["ln -s @outside@/evil /tmp/prepared", "echo bait > /tmp/prepared"],
  [
    "mkdir -p .git/x; ln -sfn @home@/.palimpsest .claude2; mv .claude2 .mcp.json",
    "ls; cp new.json .mcp.json/settings.json",
  ],
  ["ln -s @outside@/made .palimpsest", "ls", "ls"],
  ["ln -s @outside@/made .mcp.json", "true", "true"],
  ["mkdir sub; ln -s @outside@ sub/.claude", "cd sub", "touch .claude/evil"],
  ["ln -s @outside@/evil .bashrc", "true"],
  ["mkdir .palimpsest; ln -s @outside@/evil .palimpsest/settings.json", "true"],
];
