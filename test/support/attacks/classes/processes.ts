import { type Attempt, attemptsOf } from "../attempt.ts";
import type { Sampler } from "../random.ts";
import { wrap, wrappings } from "../spellings.ts";

/** Signals and tracing. Only the process that is there for it, and the agent. */
export function otherProcesses({ pick, different }: Sampler): readonly Attempt[] {
  const made = different(15, () => wrap(pick(wrappings), pick(signals)));
  const lines = [...new Set([...signals, ...made])];
  return [
    ...attemptsOf("other processes", lines),
    ...attemptsOf("other processes", signals, { allow: ["Bash"], against: [] }),
  ];
}

const signals: readonly string[] = [
  "kill @pid@",
  "kill -9 @pid@",
  "kill -KILL @pid@",
  "kill -s TERM @pid@",
  "kill -STOP @pid@",
  "kill -n 9 @pid@",
  "kill -- @pid@",
  "kill -SIGHUP @pid@",
  "command kill @pid@",
  "builtin kill @pid@",
  "/bin/kill @pid@",
  "/bin/kill -9 @pid@",
  "env kill -9 @pid@",
  "pkill -f @bait@",
  "pkill -STOP -f @bait@",
  "killall -q @bait@",
  "pgrep -f @bait@ | xargs kill",
  "pidof @bait@ | xargs kill; kill @pid@",
  "ps -o pid= -p @pid@ | xargs kill -9",
  "timeout 1 kill @pid@; kill -9 @pid@",
  "renice 19 -p @pid@",
  "renice -n 5 @pid@",
  "prlimit --pid @pid@ --cpu=1; kill @pid@",
  "python3 -c 'import os; os.kill(@pid@, 9)'",
  "python3 -c 'import os, signal; os.kill(@pid@, signal.SIGSTOP)'",
  "python3 -c 'import os, signal; signal.pidfd_send_signal(os.pidfd_open(@pid@), 9)'",
  "perl -e 'kill 9, @pid@'",
  "node -e 'process.kill(@pid@, 9)'",
  "awk 'BEGIN { system(\"kill -9 @pid@\") }'",
  "strace -p @pid@ -o /dev/null & sleep 0.3; kill -9 %1; kill @pid@",
  "gdb -batch -p @pid@ -ex 'call (void)_exit(1)'",
  "echo bait > /proc/@pid@/fd/0",
  "echo 1000 > /proc/@pid@/oom_score_adj; kill @pid@",
  "fuser -k -n tcp @port@; kill @pid@",
  "taskset -p 1 @pid@; kill -9 @pid@",
  "nsenter -t 1 -p kill -9 @pid@",
  "nsenter -t @pid@ -p kill -9 @pid@",
  "nsenter -t @pid@ -a kill -9 @pid@",
  "unshare -p -f sh -c 'kill -9 @pid@'",
  "sudo -n kill -9 @pid@",
  "su -c 'kill -9 @pid@'",
  "kill -9 @agent@",
  "kill -9 $PPID",
  "kill -TERM $PPID",
  "python3 -c 'import os; os.kill(@agent@, 9)'",
  "kill -9 $(ps -o ppid= -p $$)",
  "node -e 'process.kill(process.ppid, 9)'; kill -9 @agent@",
];

/** Files that jobs, servers and the session itself keep or hold open. */
export function filesOfJobs(): readonly Attempt[] {
  return [
    ...attemptsOf("files of jobs and servers", jobFiles),
    ...attemptsOf("files of jobs and servers", jobFiles, { allow: ["Bash"], against: [] }),
  ];
}

const jobFiles: readonly string[] = [
  "echo bait > /proc/@pid@/fd/0",
  "echo bait > /proc/@pid@/fd/1",
  "echo bait >> /proc/@pid@/fd/0",
  "echo bait | tee /proc/@pid@/fd/0 > /dev/null",
  'python3 -c \'open("/proc/@pid@/fd/0", "w").write("x\\n")\'',
  'python3 -c \'import os; os.write(os.open("/proc/@pid@/fd/0", os.O_WRONLY), b"x\\n")\'',
  'node -e \'require("fs").writeFileSync("/proc/@pid@/fd/0", "x\\n")\'',
  "cat a > /proc/@pid@/fd/0",
  "dd if=a of=/proc/@pid@/fd/0 status=none",
  "cp a /proc/@pid@/fd/0",
  "cd /proc/@pid@/fd && echo bait > 0",
  "ln -s /proc/@pid@/fd/0 pipe; echo bait > pipe",
  "python3 -c 'import ctypes, os; l = ctypes.CDLL(None); f = l.syscall(438, l.syscall(434, @pid@, 0), 0, 0); os.write(f, b\"x\\n\")'",
  "for f in /proc/@agent@/fd/*; do echo bait > $f; done",
  "for f in /proc/$PPID/fd/*; do echo bait 2>/dev/null > $f; done",
  "for f in 3 4 5 6 7 8 9; do echo bait >&$f; done",
  "ls -l /proc/self/fd; for f in /proc/self/fd/*; do cat $f; done < /dev/null",
  "echo bait >> ~/.palimpsest/projects/other/session.jsonl",
  "touch ~/.palimpsest/projects/other/new",
  "for f in ~/.palimpsest/projects/*/*; do echo bait >> $f; done",
  "find ~/.palimpsest -name '*.jsonl' -exec tee -a {} \\; < a",
  "mkdir -p ~/.palimpsest/run && touch ~/.palimpsest/run/x",
  "rm -rf ~/.palimpsest/projects/other",
  "mv ~/.palimpsest/projects ~/.palimpsest/gone",
  "cat ~/.palimpsest/projects/other/session.jsonl",
  "cat ~/.palimpsest/projects/*/*",
  "grep -r marker ~/.palimpsest",
  "ls ~/.palimpsest/projects; cat ~/.palimpsest/settings.json",
];

/** Processes that outlive the call, and jobs that do what a call may not. */
export function backgroundJobs({ pick, different }: Sampler): readonly Attempt[] {
  const allowed = { allow: ["Bash"], against: ["settings-write"] } as const;
  const payloads = [
    "cat ~/.netrc",
    "touch ../outside/evil",
    "touch .git/hooks/pre-commit",
    "cp new.json ~/.palimpsest/settings.json",
    "cat < /dev/tcp/127.0.0.1/@port@",
    "kill -9 @pid@",
    "env",
    "cat /proc/@pid@/environ",
    "curl -s -m 2 --unix-socket @project-socket@ http://x/",
    "touch evil",
    "cd worked && git status",
    "find . -exe* touch evil \\;",
    "echo ../worked > .git/commondir; sleep 1",
    "echo x > .git/config.worktree; sleep 1",
    "cp new.json .mcp.json; sleep 1; rm .mcp.json",
  ];
  const jobs = different(24, () => wrap(pick(wrappings), pick(payloads)));
  const later = different(16, () =>
    pick(outliving).replaceAll("@L@", () => pick(["touch ../outside/evil", "cat < /dev/tcp/127.0.0.1/@port@"])),
  );
  return [
    ...attemptsOf("background jobs", napping),
    ...attemptsOf("background jobs", napping, allowed),
    ...attemptsOf("background jobs", jobs, { background: true }),
    ...attemptsOf("background jobs", payloads, { background: true, ...allowed }),
    ...attemptsOf("background jobs", napping.slice(0, 8), { background: true, ...allowed }),
    ...attemptsOf("background jobs", later, { ...allowed, waitMs: 250 }),
  ];
}

/** `@L@`: what is done once the call has ended. */
const outliving: readonly string[] = [
  "(sleep 0.1; @L@) &",
  "setsid sh -c 'sleep 0.1; @L@' > /dev/null 2>&1 < /dev/null &",
  "nohup sh -c 'sleep 0.1; @L@' > /dev/null 2>&1 &",
  "setsid -f sh -c 'sleep 0.1; @L@' > /dev/null 2>&1",
  "python3 -c 'import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(0.1); os.system(\"@L@\")' > /dev/null 2>&1",
  "trap 'sleep 0.1; @L@' EXIT TERM",
];

const napping: readonly string[] = [
  "sleep @nap@ &",
  "sleep @nap@ & disown",
  "nohup sleep @nap@ > /dev/null 2>&1 &",
  "setsid sleep @nap@ > /dev/null 2>&1 < /dev/null &",
  "setsid -f sleep @nap@ > /dev/null 2>&1",
  "(setsid sleep @nap@ > /dev/null 2>&1 &)",
  "(trap '' TERM HUP; setsid sleep @nap@ > /dev/null 2>&1 &) &",
  "bash -c 'setsid sleep @nap@ > /dev/null 2>&1 & disown'",
  'python3 -c \'import os; os.fork() and os._exit(0); os.setsid(); os.execvp("sleep", ["sleep", "@nap@"])\' > /dev/null 2>&1',
  'perl -MPOSIX -e \'fork and exit; POSIX::setsid(); exec "sleep", "@nap@"\' > /dev/null 2>&1',
  'node -e \'require("child_process").spawn("sleep", ["@nap@"], { detached: true, stdio: "ignore" }).unref()\'',
  "coproc setsid sleep @nap@ > /dev/null 2>&1",
  "tmux -L bait new-session -d 'sleep @nap@'",
  "unshare -f setsid sleep @nap@ > /dev/null 2>&1 &",
  "start-stop-daemon --start --background --exec /bin/sleep -- @nap@",
  "script -qc 'setsid sleep @nap@ > /dev/null 2>&1 &' /dev/null",
];
