import { spawn } from "node:child_process";
import { chmod, copyFile, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ProgramStart, Sandbox, SandboxLimits } from "../../packages/palimpsest/src/ports/sandbox.ts";

export interface SandboxUnderTest {
  readonly name: string;
  /** Undefined: it can't be tried here, for the reason that its name gives. */
  readonly make: (() => Promise<Sandbox>) | undefined;
  /** An empty folder that the programs of this test may enter, removed after it. */
  readonly folder: () => Promise<string>;
  /** Starts it as another user, if this is about that. */
  readonly asUser?: (start: ProgramStart, folder: string) => Promise<ProgramStart>;
}

/** Real programs, and what is left of their attempts on disk and on the other end of a socket. */
export function sandboxContract({ name, make, folder, asUser }: SandboxUnderTest): void {
  async function world() {
    if (make === undefined) throw new Error("skipped");
    const top = await folder();
    const at = (path: string): string => join(top, path);
    for (const path of ["project/.git/hooks", "project/src", "home/.ssh", "home/.own/results", "home/bin", "temporary"])
      await mkdir(at(path), { recursive: true });
    const files = ["project/file", "project/.env", "project/.git/config", "project/src/key.pem"];
    for (const path of [...files, "home/.ssh/id", "home/.netrc", "home/.own/log", "home/.own/results/one", "home/file"])
      await writeFile(at(path), `text of ${path}\n`);
    const sandbox = await make();
    const limits = (strength: SandboxLimits["strength"]): SandboxLimits => ({
      strength,
      writable: strength === "workspace" ? [at("project")] : [],
      protected: strength === "workspace" ? protectedNames.map((path) => at(path)) : [],
      hidden: ["home/.ssh", "home/.netrc", "home/.own", "project/.env", "project/src/key.pem"].map((path) => at(path)),
      shown: [at("project"), at("home"), at("home/.own/results")],
      temporary: at("temporary"),
      network: { kind: "off" },
    });
    /** Where another user finds it: the checkout may lie in a folder that only its owner may enter. */
    const node = async (): Promise<string> => {
      if (asUser === undefined) return process.execPath;
      await copyFile(process.execPath, at("home/bin/node"));
      return at("home/bin/node");
    };
    const run = async (script: string, { limits: held = limits("workspace") } = {}) => {
      const NODE = script.includes("$NODE") ? await node() : "";
      const env = { PATH: process.env["PATH"] ?? "", HOME: at("home"), NODE };
      const start = { program: "/bin/bash", args: ["-c", script], cwd: at("project"), env };
      const entry = await sandbox.enter(start, held);
      if (entry.kind === "refused") return { code: -1, output: `refused: ${entry.why}` };
      const ran = await output((await asUser?.(entry.start, top)) ?? entry.start);
      await entry.leave();
      return ran;
    };
    return { at, limits, run, sandbox };
  }

  describe.skipIf(make === undefined)(`a sandbox: ${name}`, () => {
    test.each(["read-only", "workspace"] as const)(
      "%s: what a program may read, write and change",
      async (strength) => {
        const { at, limits, run } = await world();
        const attempts: Readonly<Record<string, string>> = {
          "reads the project": `cat ${at("project/file")}`,
          "reads home": `cat ${at("home/file")}`,
          "reads what is shown in a hidden folder": `cat ${at("home/.own/results/one")}`,
          "reads a hidden file of a hidden folder": `cat ${at("home/.ssh/id")}`,
          "reads beside what is shown": `cat ${at("home/.own/log")}`,
          "lists a hidden folder": `ls ${at("home/.ssh")}`,
          "reads a hidden file": `cat ${at("home/.netrc")}`,
          "reads a hidden file of the project": `cat .env || cat src/key.pem || grep -r text .env src`,
          "makes a file in the project": "touch made",
          "changes a file of the project": "echo changed >> file",
          "makes a file in home": `touch ${at("home/made")}`,
          "makes a file in a hidden folder": `touch ${at("home/.ssh/made")}`,
          "changes a file of the system": "touch /etc/made-in-sandbox || touch /usr/bin/made-in-sandbox",
          "makes a temporary file": 'touch "${TMPDIR:-/tmp}/made"',
          "writes a protected file": "echo evil >> .git/config",
          "makes a file in a protected folder": "touch .git/hooks/pre-commit",
          "makes a protected file": "echo {} > .mcp.json",
          "makes a protected folder": "mkdir -p .claude/commands && touch .claude/commands/evil",
          "removes a protected file": "rm -f .git/config && ! test -e .git/config",
          "replaces a protected file": "echo evil > other; mv -f other .git/config",
          "renames the folder of a protected file": "mv .git .other",
          "renames the folder of a hidden file": "mv src other",
          "makes what would be protected by another way": "ln -s src .claude",
        };
        const lines = Object.values(attempts).map(
          (line) => `if ( ${line} ) >/dev/null 2>&1; then echo yes; else echo no; fi`,
        );
        const { output: said } = await run(lines.join("\n"), { limits: limits(strength) });
        const can = Object.keys(attempts).filter((_, index) => said.split("\n")[index] === "yes");
        expect(said.split("\n").filter((line) => /^(yes|no)$/.test(line))).toHaveLength(lines.length);
        expect(can).toEqual([
          "reads the project",
          "reads home",
          "reads what is shown in a hidden folder",
          ...(strength === "workspace" ? ["makes a file in the project", "changes a file of the project"] : []),
          "makes a temporary file",
        ]);
        expect(await readFile(at("project/.git/config"), "utf8")).toBe("text of project/.git/config\n");
        for (const path of [".mcp.json", ".claude", ".git/hooks/pre-commit", ".other"])
          expect(await exists(at(`project/${path}`))).toBe(false);
        expect(await exists(at("temporary/made"))).toBe(true);
      },
    );

    test("reaches no server: neither by an address nor by a socket file", async () => {
      const { at, run } = await world();
      const tcp = await listening({ port: 0, host: "127.0.0.1" });
      const inProject = await listening({ path: at("project/socket") });
      const inHome = await listening({ path: at("home/socket") });
      const port = addressPort(tcp.server);
      const script = `
        const tries = [{ port: ${port}, host: "127.0.0.1" }, { path: "socket" }, { path: process.env.HOME + "/socket" }];
        for (const one of tries) {
          const socket = require("node:net").connect(one);
          socket.on("connect", () => console.log("connected", one));
          socket.on("error", (error) => console.log("refused", error.code));
        }`;
      const ran = await run(`"$NODE" -e '${script}'`);
      expect(ran.output).not.toContain("connected");
      expect(ran.output.match(/refused/g)).toHaveLength(3);
      expect([tcp.connections(), inProject.connections(), inHome.connections()]).toEqual([0, 0, 0]);
    });

    test("reaches no socket by a pair of its own", async ({ skip }) => {
      const { at, run } = await world();
      // Node has no datagram sockets of files: another program listens, and another sends.
      const heard = at("temporary/heard");
      const path = at("home/datagrams");
      const listen = `import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("${path}"); print("ready", flush=True); text = s.recv(9); open("${heard}", "wb").write(text)`;
      const server = spawn("python3", ["-c", listen]);
      onTestFinished(() => void server.kill("SIGKILL"));
      const isReady = await new Promise<boolean>((resolve) => {
        server.stdout.once("data", () => resolve(true));
        server.once("error", () => resolve(false));
        server.once("exit", () => resolve(false));
      });
      if (!isReady) return skip("there is no python3");
      await chmod(path, 0o777);
      const send = `import socket
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    try:
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        one.sendto(b"through", "${path}")
        print("sent")
    except OSError as error:
        print("refused", error.errno)`;
      const { output: said } = await run(`python3 -c '${send}'`);
      // A pair of packets sends to its other end, whatever the address.
      expect(said.split("\n").slice(0, 3)).toEqual(["refused 1", "refused 1", expect.stringContaining("refused")]);
      expect(await exists(heard)).toBe(false);
    });

    test("its own servers and pairs of sockets work", async () => {
      const { run } = await world();
      const script = `
        const server = require("node:net").createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1", () => {
          require("node:net").connect(server.address().port, "127.0.0.1").on("data", (data) => {
            console.log(String(data));
            require("node:child_process").spawn("echo", ["child"], { stdio: "inherit" }).on("exit", () => process.exit(0));
          });
        });`;
      expect(await run(`"$NODE" -e '${script}'`)).toEqual({ code: 0, output: "hello\nchild\n" });
    });

    test("signals no process outside, and sees none", async () => {
      const { run } = await world();
      const other = spawn("sleep", ["60"]);
      onTestFinished(() => void other.kill("SIGKILL"));
      await run(`kill -9 ${other.pid}`);
      expect(other.exitCode ?? other.signalCode).toBe(null);
      const seen = await run(
        `test -e /proc/${process.pid}/environ && echo seen; ls -d /proc/[0-9]* 2>/dev/null | wc -l`,
      );
      expect(seen.output).not.toContain("seen");
      expect(Number(seen.output)).toBeLessThan(10);
    });

    test("what one command leaves in the temporary folder the next one finds", async () => {
      const { limits, run } = await world();
      await run('echo kept > "$TMPDIR/file"');
      expect((await run('cat "$TMPDIR/file"', { limits: limits("read-only") })).output).toBe("kept\n");
    });

    test("hands on the exit code, and the descriptors that the program was given", async () => {
      const { run } = await world();
      expect(await run("echo out; echo err >&2; exit 7")).toEqual({ code: 7, output: "out\nerr\n" });
    });

    test("what is held although it is not there is gone after the last command that needs it", async () => {
      const { at, run } = await world();
      const [slow, quick] = [
        run("sleep 0.5; echo {} > .mcp.json || echo held"),
        run("echo {} > .mcp.json || echo held"),
      ];
      expect((await quick).output).toMatch(/held$/m);
      expect((await slow).output).toMatch(/held$/m);
      expect(await exists(at("project/.mcp.json"))).toBe(false);
    });
  });
}

const protectedNames: readonly string[] = [
  "project/.git/config",
  "project/.git/hooks",
  "project/.mcp.json",
  "project/.claude",
];

async function output({ program, args, cwd, env }: ProgramStart): Promise<{ code: number | null; output: string }> {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output: Buffer.concat(chunks).toString() }));
  });
}

const exists = async (path: string): Promise<boolean> =>
  await stat(path).then(
    () => true,
    () => false,
  );

async function listening(at: { readonly path: string } | { readonly port: number; readonly host: string }) {
  let count = 0;
  const server = createServer(() => (count += 1));
  await new Promise<void>((resolve) => server.listen(at, resolve));
  onTestFinished(() => void server.close());
  return { server, connections: () => count };
}

function addressPort(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
