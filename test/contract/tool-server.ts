import { describe, expect, it, onTestFinished } from "vitest";
import type { ConnectOutcome, ToolServer } from "../../packages/palimpsest/src/ports/tool-server.ts";

export interface ToolServerUnderTest {
  readonly name: string;
  /** A server whose tool `echo` answers and whose tool `fail` answers with an error. */
  readonly connect: (signal: AbortSignal) => Promise<ConnectOutcome>;
  /** One that is not there. */
  readonly connectToNothing: (signal: AbortSignal) => Promise<ConnectOutcome>;
}

const never = new AbortController().signal;

/** The rules of the port, however the server is reached. */
export function toolServerContract({ name, connect, connectToNothing }: ToolServerUnderTest): void {
  const connected = async (): Promise<ToolServer> => {
    const made = await connect(never);
    if (made.kind === "failed") throw new Error(made.why);
    onTestFinished(() => made.server.close());
    return made.server;
  };

  describe(`a server of tools, ${name}`, () => {
    it("lists its tools with the schema of their input, the same each time it is asked", async () => {
      const server = await connected();
      const listed = await server.listTools(never);
      if (listed.kind === "failed") return expect.unreachable(listed.why);
      expect(listed.tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(["echo", "fail"]));
      for (const { inputSchema } of listed.tools) expect(inputSchema["type"]).toBe("object");
      expect(await server.listTools(never)).toEqual(listed);
    });

    it("answers calls, also several at once, and says which answers are errors", async () => {
      const server = await connected();
      const calls = ["echo", "fail", "echo"].map((tool) => server.call({ tool, input: { a: [1] } }, never));
      expect(await Promise.all(calls)).toMatchObject([
        { kind: "answer", isError: false },
        { kind: "answer", isError: true },
        { kind: "answer", isError: false },
      ]);
    });

    it("gives up what is aborted, without rejecting, and goes on", async () => {
      const server = await connected();
      expect(await server.call({ tool: "echo", input: {} }, AbortSignal.abort())).toMatchObject({ kind: "failed" });
      expect(await server.call({ tool: "echo", input: {} }, never)).toMatchObject({ kind: "answer" });
    });

    it("fails what is asked of it once it is closed, and can be closed twice", async () => {
      const server = await connected();
      await server.close();
      await server.close();
      expect(await server.call({ tool: "echo", input: {} }, never)).toMatchObject({ kind: "failed" });
      expect(await server.listTools(never)).toMatchObject({ kind: "failed" });
    });

    it("that is not there fails with a reason, and so does one that nobody waits for any more", async () => {
      expect(await connectToNothing(never)).toEqual({ kind: "failed", why: expect.stringMatching(/\S/) as unknown });
      expect(await connect(AbortSignal.abort())).toEqual({
        kind: "failed",
        why: expect.stringMatching(/\S/) as unknown,
      });
    });
  });
}
