import { spawnSync } from "node:child_process";
import { mkdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { toolbox } from "../../../../../test/fixture/toolbox.ts";
import { shellOutputBytesMax } from "../limits.ts";

/** A dead process that nobody has asked after yet is none. */
const isRunning = (pid: number): boolean => {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout.trim());
};

describe("bash", () => {
  test("gives both streams in the order of writing", async () => {
    const box = await toolbox();
    const ran = await box.call("bash", { command: "for i in 1 2 3; do echo out $i; echo err $i >&2; done" });
    expect(ran.text).toBe("out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3");
  });

  test.each([
    ["the last line that says something", "echo one; echo two; echo", "two"],
    ["that there was none", "true", "no output"],
    ["how it ended, where it failed", "echo one; exit 3", "exit code 3"],
  ])("is told in a line: %s", async (_, command, summary) => {
    const box = await toolbox();
    expect(await box.call("bash", { command })).toMatchObject({ outcome: { summary } });
  });

  test("tells the exit code of a command that fails", async () => {
    const box = await toolbox();
    expect(await box.call("bash", { command: "echo a; exit 3" })).toMatchObject({
      isError: true,
      text: "a\n[exit code 3]",
    });
    expect(await box.call("bash", { command: "true" })).toMatchObject({ isError: false, text: "" });
    expect(await box.call("bash", { command: "kill -9 $$" })).toMatchObject({ text: "[ended by SIGKILL]" });
    expect(await box.call("bash", { command: "echo 'a" })).toMatchObject({ isError: true });
  });

  test("keeps the folder between calls while it is inside the project", async () => {
    const box = await toolbox();
    await mkdir(join(box.project, "a/b"), { recursive: true });
    await box.call("bash", { command: "cd a" });
    expect((await box.call("bash", { command: "cd b; pwd" })).text).toBe(join(box.project, "a/b"));
    const left = await box.call("bash", { command: `cd ${box.outside}` });
    expect(left.text).toContain(`the working directory is ${box.project} again`);
    expect((await box.call("bash", { command: "pwd" })).text).toBe(box.project);
    await symlink(box.outside, join(box.project, "link"));
    await box.call("bash", { command: "cd link" });
    expect((await box.call("bash", { command: "pwd -P" })).text).toBe(box.project);
  });

  test("takes no word about the folder from processes in the background", async () => {
    const box = await toolbox();
    await box.call("bash", { command: "mkdir a" });
    for (let time = 0; time < 10; time += 1) {
      const ran = await box.call("bash", { command: "cd a; sleep 30 & echo started; cd .." });
      expect(ran.text).toBe("started\n[Processes it left in the background were ended.]");
      expect((await box.call("bash", { command: "pwd" })).text).toBe(box.project);
    }
  }, 60_000);

  test.each([
    ["ends by itself", "trap 'echo own $?' EXIT; cd a; (exit 3)", "own 3\n[exit code 3]"],
    ["fails under set -e", "set -e; cd a; false; echo unreached", "[exit code 1]"],
    ["exits", "cd a; exit 3", "[exit code 3]"],
    ["is traced", "set -x; cd a", "++ cd a"],
    ["ends in a here-document without an end", "cd a; cat 2>/dev/null <<X\nb", expect.stringMatching(/(^|\n)b$/)],
    ["can't be read to its end", "cd a\necho 'b", expect.stringContaining("line 2")],
    ["has arguments", 'cd a; echo "$#"', "0"],
  ])("keeps the folder of a command that %s", async (_, command, text) => {
    const box = await toolbox();
    await mkdir(join(box.project, "a"));
    expect((await box.call("bash", { command })).text).toEqual(text);
    expect((await box.call("bash", { command: "pwd" })).text).toBe(join(box.project, "a"));
  });

  test.each([
    ["exit", "function exit { :; }; false", "[exit code 1]"],
    ["set", "set() { :; }; false", "[exit code 1]"],
    ["set, and is traced", "set -x; set() { :; }", ""],
    ["printf, pwd and exec", "printf() { :; }; pwd() { :; }; exec() { :; }; (exit 2)", "[exit code 2]"],
    ["[", "[() { return 0; }; exit 2", "[exit code 2]"],
  ])("tells the end of a command that has its own %s", async (_, command, text) => {
    const box = await toolbox();
    expect((await box.call("bash", { command })).text).toBe(text);
  });

  test.each(["", "; exit", "; trap 'echo end' EXIT"])("leaves low descriptors to the command%s", async (last) => {
    const box = await toolbox();
    await mkdir(join(box.project, "a"));
    const open = "exec 3>log.txt 4>&3 9>nine.txt 10>ten.txt; echo hi >&3; echo ten >&10; cd a";
    const ran = await box.call("bash", { command: `${open}${last}` });
    expect(ran.text).toBe(last.includes("trap") ? "end" : "");
    const written = async (name: string) => await readFile(join(box.project, name), "utf8");
    expect([await written("log.txt"), await written("nine.txt"), await written("ten.txt")]).toEqual([
      "hi\n",
      "",
      "ten\n",
    ]);
    expect((await box.call("bash", { command: "pwd; { echo free >&3; } 2>/dev/null || echo closed" })).text).toBe(
      `${join(box.project, "a")}\nclosed`,
    );
  });

  test("has closed the way by which it tells its folder before a trap of the command runs", async () => {
    const box = await toolbox();
    const ran = await box.call("bash", { command: "trap 'ls /proc/self/fd /dev/fd 2>/dev/null | grep -cx 87' EXIT" });
    expect(ran.text).toBe("0");
  });

  test("a command longer than the system takes is not started, and says so", async () => {
    const box = await toolbox();
    const ran = await box.call("bash", { command: `echo ${"x".repeat(2 ** 22)}` });
    expect(ran).toMatchObject({ isError: true });
    expect(ran.text).toContain("could not be started: spawn E2BIG");
  });

  test("says so where nobody told the folder", async () => {
    const box = await toolbox();
    await mkdir(join(box.project, "a"));
    const ran = await box.call("bash", { command: "trap 'echo own' EXIT; cd a; exit" });
    expect(ran.text).toBe(`own\n[it is not known where it ended: the working directory is still ${box.project}]`);
  });

  test("comes back to the session's folder when the kept one is gone", async () => {
    const box = await toolbox();
    await box.call("bash", { command: "mkdir gone && cd gone" });
    await box.call("bash", { command: "rmdir ../gone" });
    expect(await box.call("bash", { command: "pwd" })).toMatchObject({ isError: true });
    expect((await box.call("bash", { command: "pwd" })).text).toBe(box.project);
  });

  test("ends the whole group at the time limit", async () => {
    const box = await toolbox();
    const started = performance.now();
    const ran = await box.call("bash", {
      command: "(sleep 30; echo late > late.txt) & echo $! > pid; sleep 30",
      timeout_ms: 300,
    });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(ran).toMatchObject({ isError: true, text: "[ended after 300 ms, its time limit]" });
    const pid = Number(await readFile(join(box.project, "pid"), "utf8"));
    expect(isRunning(pid)).toBe(false);
  });

  test("ends by force what does not listen, when interrupted", async () => {
    const box = await toolbox();
    const abort = new AbortController();
    const running = box.call("bash", { command: "trap '' TERM; while :; do sleep 1; done" }, { signal: abort.signal });
    await wait(300);
    abort.abort();
    expect(await running).toMatchObject({ isError: true, text: "[interrupted]" });
  });

  test("runs nothing once it is interrupted", async () => {
    const box = await toolbox();
    const ran = await box.call("bash", { command: "echo a > a.txt" }, { signal: AbortSignal.abort() });
    expect(ran.text).toBe("[interrupted]");
    await expect(readFile(join(box.project, "a.txt"))).rejects.toThrow("ENOENT");
  });

  test("does not wait for what is left in the background, and ends it", async () => {
    const box = await toolbox();
    const ran = await box.call("bash", { command: "sleep 60 & echo started $!" });
    expect(ran.text).toContain("[Processes it left in the background were ended.]");
    const pid = Number(/started (\d+)/.exec(ran.text)?.[1]);
    expect(isRunning(pid)).toBe(false);
  });

  test("gives no input: a program that reads ends at once", async () => {
    const box = await toolbox();
    expect(await box.call("bash", { command: "cat; echo done" })).toMatchObject({ text: "done" });
  });

  test("keeps all of a long output", async () => {
    const box = await toolbox();
    const ran = await box.call("bash", {
      command: "echo first; head -c 9000000 /dev/zero | tr '\\0' x; echo; echo last",
    });
    expect(ran.text).toBe(`first\n${"x".repeat(9_000_000)}\nlast`);
  });

  test("keeps head and tail of an output without end, and says at its end what is gone", async () => {
    const box = await toolbox();
    const over = shellOutputBytesMax + 1_000_000;
    const ran = await box.call("bash", {
      command: `echo first; head -c ${over} /dev/zero | tr '\\0' x; echo; echo last`,
    });
    expect(ran.text.length).toBeLessThan(shellOutputBytesMax + 300);
    expect(ran.text.startsWith("first\nxxx")).toBe(true);
    expect(ran.text.includes("\n… (1000012 bytes left out) …\n")).toBe(true);
    const tail = ran.text.slice(-200);
    expect(tail).toMatch(/x\nlast\n\[Its output is not kept whole: 1000012 bytes of its middle are gone\]$/);
  });

  test("names what a read-only command reads, by real paths", async () => {
    const box = await toolbox();
    await writeFile(join(box.outside, "secret"), "s");
    await symlink(join(box.outside, "secret"), join(box.project, "link.txt"));
    await writeFile(join(box.project, "a.txt"), "a");
    const reads = async (command: string): Promise<readonly string[]> =>
      (await box.acts("bash", { command })).flatMap((act) => (act.kind === "read" ? [act.path] : []));
    const secret = join(box.outside, "secret");
    expect(await reads("cut -d/ -f1 a.txt < /dev/null; echo /etc/passwd; tr / _")).toEqual([
      join(box.project, "a.txt"),
    ]);
    expect(await reads("cat a.txt")).toEqual([join(box.project, "a.txt")]);
    expect(await reads("cat link.txt")).toEqual([secret]);
    expect(await reads("cat *.txt")).toContain(secret);
    expect(await reads("cat ../outside/secret")).toEqual([secret]);
    expect(await reads("cat < ../outside/secret")).toEqual([secret]);
    expect(await reads("cd ../outside && cat secret")).toContain(secret);
    expect(await reads("grep -f../outside/secret a.txt")).toContain(secret);
    expect(await reads("grep -rf../outside/secret a.txt")).toContain(secret);
    expect(await reads("grep --file=../outside/secret a.txt")).toContain(secret);
    await mkdir(join(box.outside, "in"));
    await symlink(join(box.outside, "in"), join(box.project, "in"));
    expect(await reads("cat in/../secret")).toEqual([secret]);
    expect(await reads("cd in && cat ../secret")).toContain(secret);
    expect(await reads("cd in && cd .. && cat secret")).toContain(secret);
    expect(await reads("cat ~")).toEqual([await realpath(process.env["HOME"] ?? "")]);
    for (const command of ["cat ~root/x", `cat -${"a".repeat(9_000)}`, "cat **/x"])
      expect(await box.acts("bash", { command })).toMatchObject([{ effect: "unknown", reads: "unclear" }]);
  });

  test("names what the words of a pattern lead to, as files and as options", async () => {
    const box = await toolbox();
    const [secret, deep] = [join(box.outside, "secret"), join(box.project, "deep/er")];
    await writeFile(secret, "s");
    await mkdir(deep, { recursive: true });
    await symlink(secret, join(deep, "link"));
    await mkdir(join(box.project, "-f../outside"), { recursive: true });
    await writeFile(join(box.project, "-f../outside/secret"), "");
    await writeFile(join(box.project, "a.txt"), "a");
    const reads = async (command: string): Promise<readonly string[]> =>
      (await box.acts("bash", { command })).flatMap((act) => (act.kind === "read" ? [act.path] : []));
    expect(await reads("cat d*/*/link")).toEqual([secret]);
    expect(await reads("cat */er/li*")).toEqual([secret]);
    expect(await reads("cat x*/er/li*")).toEqual([]);
    expect(await reads("grep -f../outside/s* a.txt")).toContain(secret);
  });

  test("takes nothing for an option or for home that may be a name", async () => {
    const box = await toolbox();
    const secret = join(box.outside, "secret");
    await writeFile(secret, "s");
    await mkdir(join(box.project, "~"));
    await symlink(secret, join(box.project, "~/link"));
    await symlink(secret, join(box.project, "-link"));
    for (const command of ["cat -- -link", "cat '~/link'", "cat '~'/l*", "cd '~' && cat link"])
      expect(await box.acts("bash", { command }), command).toContainEqual({
        kind: "read",
        path: secret,
        ofCommand: command.startsWith("cd") ? 1 : 0,
      });
  });

  test("takes what a pattern finds for words of the command", async () => {
    const box = await toolbox();
    const effect = async (command: string): Promise<string | undefined> => {
      const [act] = await box.acts("bash", { command });
      return act?.kind === "shell" ? act.effect : undefined;
    };
    for (const folder of ["options", "files", "lists"]) await mkdir(join(box.project, folder));
    for (const name of ["files/a", "files/b", "options/-oevil", "options/a", "lists/@names"])
      await writeFile(join(box.project, name), "x\n");
    await writeFile(Buffer.concat([Buffer.from(`${box.project}/lists/a`), Buffer.from([0xff])]), "");
    for (const command of ["sort *", "sha256sum *", "grep x *", "cd files && wc -l *", "git log -- *"])
      expect(await effect(command.startsWith("cd") ? command : `cd files; ${command}`), command).toBe("read-only");
    for (const command of [
      "sort *",
      "sort ?oevil",
      "sort [!a]*",
      "grep x -- [-]*",
      "sha256sum *",
      "cd options && sort *",
    ])
      expect(await effect(`cd options; ${command}`), command).toBe("unknown");
    for (const command of ["uniq files/*", "uniq files/[ab]", "cd lists; strings *", "cd lists; cat *", "cat l*/a*"])
      expect(await effect(command), command).toBe("unknown");
  });

  test("names the file that a tilde in the middle of a word would lead to, or asks", async () => {
    const box = await toolbox();
    await mkdir(join(box.project, `x=a:${process.env["HOME"]}`), { recursive: true });
    await symlink(join(box.outside, "secret"), join(box.project, `x=a:${process.env["HOME"]}/link`));
    for (const command of ["cat x=a:~/link", "cat x=a:~/l*", "cat x=a:~/li{nk,x}"])
      expect((await box.acts("bash", { command }))[0], command).toMatchObject({ effect: "unknown" });
  });

  test("looks up files of processes and devices in nobody's process, wherever they stand in a word", async () => {
    const box = await toolbox();
    await writeFile(join(box.project, "a"), "a");
    await symlink("/proc/self/cwd", join(box.project, "here"));
    await symlink("/", join(box.project, "root"));
    const special = async (command: string): Promise<readonly string[]> =>
      (await box.acts("bash", { command })).flatMap((act) => (act.kind === "read" ? [act.path] : []));
    const up = "../".repeat(12);
    for (const [command, path] of [
      ["cat /proc/self/cwd/a", "/proc/self/cwd/a"],
      ["cat /proc/self/fd/87", "/proc/self/fd/87"],
      ["cat here/a", "/proc/self/cwd/a"],
      [`cat ${up}proc/self/cwd/a`, "/proc/self/cwd/a"],
      ["cat ./root/proc/self/environ", "/proc/self/environ"],
      ["cat //proc/./self/environ", "/proc/self/environ"],
      ["cat < root/proc/self/environ", "/proc/self/environ"],
      ["grep --file=/proc/self/environ a", "/proc/self/environ"],
      ["grep -f/proc/self/environ a", "/proc/self/environ"],
      ["grep x a@/proc/self/environ", "/proc/self/environ"],
      ["cat a:/dev/fd/3", "/dev/fd/3"],
      ["cat /pro?/self/cwd/a", "/proc/self/cwd/a"],
      ["cd here && cat a", "/proc/self/cwd/a"],
    ] as const)
      expect(await special(command), command).toContain(path);
    for (const command of ["cd /proc/self; ls", "cd here; ls", "cd root/proc && ls"])
      expect((await box.acts("bash", { command }))[0], command).toMatchObject({ effect: "unknown" });
    for (const command of ["echo x > /proc/self/cwd/b", "cp a here/b", "cd here; touch b", "tee /proc/self/root/b"])
      expect((await box.acts("bash", { command }))[0], command).toMatchObject({ writes: "unclear" });
    expect((await box.acts("bash", { command: "ls 2> /dev/null > /dev/stderr" }))[0]).toMatchObject({
      writes: "known",
    });
    expect(await special("cat a < /dev/null; grep -n x src/dev/b ./proc/c")).toEqual([join(box.project, "a")]);
  });

  test("names what known programs read in a line that does other things too", async () => {
    const box = await toolbox();
    const file = join(box.project, "a.txt");
    await writeFile(file, "a");
    const acts = async (command: string) => await box.acts("bash", { command });
    const unknown = { kind: "shell", effect: "unknown" };
    expect(await acts("make; cat a.txt")).toMatchObject([
      { ...unknown, reads: "known" },
      { kind: "read", path: file, ofCommand: 1 },
    ]);
    for (const command of ["X=1; cat a.txt", "cat $X a.txt", "make < a.txt"])
      expect(await acts(command), command).toMatchObject([unknown, { kind: "read", path: file }]);
    expect(await acts("cat a.txt > b")).toMatchObject([
      { ...unknown, writes: "known" },
      { kind: "read", path: file },
      { kind: "write", path: join(box.project, "b"), byShell: { reach: "itself" } },
    ]);
    for (const command of ["cd $X; cat a.txt", "pushd b; cat a.txt", "eval x; cat a.txt", "cat a.txt ~root/x"])
      expect(await acts(command), command).toMatchObject([{ ...unknown, reads: "unclear" }, { path: file }]);
  });

  test("does not take a comparison of folders for harmless", async () => {
    const box = await toolbox();
    await mkdir(join(box.project, "d"));
    for (const name of ["a", "b"]) await writeFile(join(box.project, name), name);
    expect(await box.acts("bash", { command: "diff a b" })).toMatchObject([{ effect: "read-only" }, {}, {}]);
    for (const command of ["diff d a", "diff a d", "diff --from-file=d a", "diff . d", "cd d; diff .. ."])
      expect((await box.acts("bash", { command }))[0], command).toMatchObject({ effect: "unknown", reads: "unclear" });
  });

  test("does not trust git where the project's files can set it up", async () => {
    const box = await toolbox();
    await mkdir(join(box.project, "bare/objects"), { recursive: true });
    await writeFile(join(box.project, "bare/HEAD"), "ref: refs/heads/main\n");
    expect(await box.acts("bash", { command: "git status" })).toMatchObject([{ effect: "read-only" }]);
    expect((await box.acts("bash", { command: "cd bare && git status" }))[0]).toMatchObject({ effect: "unknown" });
  });

  test("takes programs for read-only commands from the system, not from the project", async () => {
    const box = await toolbox({ env: { PATH: `.:bin:${process.env["PATH"]}` } });
    await mkdir(join(box.project, "bin"));
    await writeFile(join(box.project, "bin/ls"), "#!/bin/sh\necho evil\n", { mode: 0o755 });
    await writeFile(join(box.project, "ls"), "#!/bin/sh\necho evil\n", { mode: 0o755 });
    expect((await box.call("bash", { command: "ls" })).text).toBe("bin\nls");
  });
});
